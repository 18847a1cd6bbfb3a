"""The decoder's passes wired together: a segment in, Arrow out."""

from __future__ import annotations

__all__ = ["event_reader", "excerpt", "library", "precompile", "segment_decoder"]
