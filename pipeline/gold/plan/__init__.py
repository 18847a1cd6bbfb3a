"""What the next batch of gold applies, and how far it may go."""

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
