"""Verify: check that gold equals its source, by checksums computed on both sides."""

from __future__ import annotations

__all__ = ["report", "run", "script", "snapshot"]
