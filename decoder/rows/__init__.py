"""Rows events to record batches: the walk over rows, cell positions and images."""

from __future__ import annotations

__all__ = ["blocks", "grouping", "row_decoder", "table_slots", "walker"]
