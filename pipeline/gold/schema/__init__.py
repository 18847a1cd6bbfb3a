"""Schema changes of gold's tables."""

from __future__ import annotations

__all__ = ["evolve", "insert_defaults", "renames", "unlogged"]
