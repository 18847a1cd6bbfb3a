"""Gold tables: names, state, commits, damage."""

from __future__ import annotations

__all__ = [
    "commits",
    "damage",
    "gold_table",
    "incomplete",
    "names",
    "options",
    "small_table",
    "state",
]
