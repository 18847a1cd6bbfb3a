"""The next batch of gold: what it applies, and up to which transaction."""

from __future__ import annotations

__all__ = [
    "batch_plan",
    "cut",
    "inspection",
    "published_cuts",
    "rebuild",
    "stopped_tables",
    "table_refresh",
    "until",
    "verification_points",
]
