"""A lake's table definitions, and their Delta logs."""

from __future__ import annotations

from typing import TYPE_CHECKING

from decoder.lazy_names import lazy_names

if TYPE_CHECKING:
    from pipeline.lake.delta_log.spark_types import spark_schema

__all__ = [
    "column_features",
    "column_statistics",
    "conditions",
    "delta_rs",
    "file_commit",
    "log_version",
    "metadata_commit",
    "model",
    "spark_schema",
    "spark_types",
    "spark_written",
    "table_log",
]

if not TYPE_CHECKING:
    __getattr__ = lazy_names(__name__, {"pipeline.lake.delta_log.spark_types": "spark_schema"})
