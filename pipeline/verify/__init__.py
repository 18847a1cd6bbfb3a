"""Verify: is gold what its source has, by checksums that both can make."""

from __future__ import annotations

__all__ = ["report", "run", "script", "snapshot", "snapshot_columns"]
