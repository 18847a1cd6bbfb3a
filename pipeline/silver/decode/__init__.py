"""Decode segments into rows, in the tasks that read them."""

from __future__ import annotations

__all__ = [
    "decode",
    "decoding",
    "segment_tasks",
    "segments",
    "silver_tables",
    "splitter",
    "table_names",
]
