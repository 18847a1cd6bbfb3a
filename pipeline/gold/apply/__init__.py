"""Application of a plan to gold's tables, one MERGE or append at a time."""

from __future__ import annotations

__all__ = ["apply", "seed_rows"]
