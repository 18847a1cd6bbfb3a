"""Spark's format `binlog`: a DataFrame of the changes in MySQL's and MariaDB's binary logs.

    spark.read.format("binlog").option("table", "shop.orders").load("s3://…/binlogs")

Spark finds `DefaultSource` by itself, as in every package named `pyspark_…` on the path of the
driver's Python. `register` adds the push-down of filters, and sends the code to the workers of a
cluster.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from decoder.lazy_names import lazy_names

if TYPE_CHECKING:
    from pyspark_binlog.source import DefaultSource, register

__all__ = ["DefaultSource", "register"]

if not TYPE_CHECKING:
    __getattr__ = lazy_names(__name__, {"pyspark_binlog.source": "DefaultSource register"})
