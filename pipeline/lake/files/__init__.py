"""Parquet files of a lake's tables: writing, scanning, skipping, rewriting and compaction."""

from __future__ import annotations

__all__ = [
    "compaction",
    "data_files",
    "rewriting",
    "skipping",
    "table_scan",
    "target_writer",
]
