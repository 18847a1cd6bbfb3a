"""Decode segments into rows, in the tasks that read them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from decoder.lazy_names import lazy_names

if TYPE_CHECKING:
    from pipeline.silver.decode.decode import OFFSET_BITS, Decode
    from pipeline.silver.decode.table_names import TableNames

__all__ = [
    "OFFSET_BITS",
    "Decode",
    "TableNames",
    "decode",
    "segment_refs",
    "segment_tasks",
    "silver_tables",
    "splitter",
    "table_names",
    "task_output",
]

if not TYPE_CHECKING:
    __getattr__ = lazy_names(
        __name__,
        {
            "pipeline.silver.decode.decode": "OFFSET_BITS Decode",
            "pipeline.silver.decode.table_names": "TableNames",
        },
    )
