"""Foreign key cascades that the log does not contain, computed when a batch is planned."""

from __future__ import annotations

__all__ = ["cascades_table", "derivation", "planned_batch", "reader"]
