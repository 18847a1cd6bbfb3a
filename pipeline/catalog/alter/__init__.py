"""Effects to new definitions, and to conversions of the rows that are there."""

from __future__ import annotations

__all__ = ["alteration", "generated", "items", "versions"]
