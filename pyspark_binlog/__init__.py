"""Spark's format `binlog`: a DataFrame of the changes in MySQL's and MariaDB's binary logs.

    spark.read.format("binlog").option("table", "shop.orders").load("s3://…/binlogs")

Spark finds `DefaultSource` by itself, as in every package named `pyspark_…` on the path of the
driver's Python. `register` adds the push-down of filters, and sends the code to the workers of a
cluster.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pyspark_binlog.source import DefaultSource, register

__all__ = ["DefaultSource", "register"]

_MODULES = {
    "DefaultSource": "pyspark_binlog.source",
    "register": "pyspark_binlog.source",
}

if not TYPE_CHECKING:

    def __getattr__(name: str) -> Any:
        if name not in _MODULES:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        return getattr(import_module(_MODULES[name]), name)
