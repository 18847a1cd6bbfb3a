"""A lake's table definitions, and readers of their Delta logs."""

from __future__ import annotations

__all__ = [
    "column_features",
    "conditions",
    "delta_rs",
    "model",
    "spark_types",
    "spark_written",
    "table_log",
]
