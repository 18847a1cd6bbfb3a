"""Silver's tables: the quarantine, and views of changes for a catalog."""

from __future__ import annotations

__all__ = ["quarantine", "views"]
