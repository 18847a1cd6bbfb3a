"""Gold tables: names, state, commits, damage."""

from __future__ import annotations

__all__ = [
    "commits",
    "damage",
    "gold_table",
    "incomplete",
    "names",
    "options",
    "state",
    "table_metadata",
]
