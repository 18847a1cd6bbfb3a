"""Verify: check that gold equals its source, by checksums computed on both sides."""

from __future__ import annotations

__all__ = ["comparison_record", "report", "run", "script", "snapshot"]
