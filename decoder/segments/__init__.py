"""Splitting of logs into segments that can be decoded independently."""

from __future__ import annotations

__all__ = ["framer", "log_header", "segmenter", "statistics"]
