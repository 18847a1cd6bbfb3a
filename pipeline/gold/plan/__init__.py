"""The next batch of gold: what it applies, and up to which transaction."""

from __future__ import annotations

__all__ = [
    "batch_plan",
    "cuts_table",
    "publication",
    "rebuild",
    "stopped_tables",
    "table_inspection",
    "table_refresh",
    "until",
    "verification_points",
]
