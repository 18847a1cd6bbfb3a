"""Gold tables: names, state, damage, refusals."""

from __future__ import annotations

__all__ = [
    "commits",
    "damage",
    "gold_table",
    "incomplete",
    "names",
    "state",
]
