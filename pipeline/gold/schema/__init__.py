"""Changes of a table's schema, applied to gold."""

from __future__ import annotations

__all__ = ["evolve", "insert_defaults", "renames", "unlogged"]
