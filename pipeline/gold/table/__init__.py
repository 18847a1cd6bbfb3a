"""Gold tables: names, state, damage, refusals."""

from __future__ import annotations

__all__ = [
    "commit_stats",
    "damage",
    "foreign_commits",
    "gold_table",
    "incomplete",
    "names",
    "state",
]
