"""Decode segments into rows, in the tasks that read them."""

from __future__ import annotations

__all__ = [
    "decode",
    "segment_refs",
    "segment_tasks",
    "silver_tables",
    "splitter",
    "table_names",
    "task_output",
]
