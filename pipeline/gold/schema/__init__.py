"""Schema changes of gold's tables."""

from __future__ import annotations

__all__ = ["evolve", "renames", "table_change", "unlogged"]
