"""Plan a batch of silver: the segments to decode, and the definitions of their tables."""

from __future__ import annotations

__all__ = [
    "batch_plan",
    "known_tables",
    "late_names",
    "progress",
    "refresh",
    "seeds",
    "seen_before",
    "start_definitions",
    "survey",
    "table_owner",
    "take_seeds",
]
