"""Plan a batch of silver: the segments to decode, and the definitions of their tables."""

from __future__ import annotations

__all__ = [
    "batch_plan",
    "known_tables",
    "late_names",
    "new_segments",
    "progress",
    "stored_seeds",
    "survey",
    "take_seeds",
]
