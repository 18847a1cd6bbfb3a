"""A lake's table definitions, and their Delta logs."""

from __future__ import annotations

__all__ = [
    "column_features",
    "column_statistics",
    "conditions",
    "delta_rs",
    "file_commit",
    "log_version",
    "metadata_commit",
    "model",
    "spark_types",
    "spark_written",
    "table_log",
]
