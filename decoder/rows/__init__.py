"""Rows events to record batches: the walk over rows, cell positions and images."""

from __future__ import annotations

__all__ = ["change_batch", "grouping", "row_decoder", "spans", "table_maps", "walker"]
