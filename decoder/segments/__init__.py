"""Splitting of logs into segments that can be decoded independently."""

from __future__ import annotations

__all__ = ["log_header", "log_windows", "segment_bounds", "statistics"]
