"""Silver's tables: what a batch commits, and what is quarantined."""

from __future__ import annotations

__all__ = ["batch_tables", "quarantine", "views"]
