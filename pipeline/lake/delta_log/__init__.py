"""What a table of the lake is, and what its Delta log says of it."""

from __future__ import annotations

__all__ = ["conditions", "delta_rs", "spark_types", "spark_written", "table", "table_log"]
