"""Silver's tables: the output of a batch, the quarantine, and views for a catalog."""

from __future__ import annotations

__all__ = ["batch_tables", "quarantine", "views"]
