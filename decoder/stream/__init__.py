"""The decoder's passes combined: from a segment's bytes to Arrow."""

from __future__ import annotations

__all__ = ["event_reader", "excerpt", "precompile", "segment_decoder"]
