"""Published snapshots for readers: their tables by Spark, Polars or Arrow, and copies of them."""

from __future__ import annotations

__all__ = ["copy", "description", "query_engines", "snapshot", "table_versions"]
