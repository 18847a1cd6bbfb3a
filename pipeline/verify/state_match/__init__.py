"""Which published snapshot of gold is of the same state as a server's."""

from __future__ import annotations

__all__ = ["cut_at", "position", "way"]
