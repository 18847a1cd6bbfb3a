"""Find the published cut of gold that has the same state as a server's snapshot."""

from __future__ import annotations

__all__ = ["cut_at", "position", "way"]
