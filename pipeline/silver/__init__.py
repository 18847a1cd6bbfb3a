"""Silver: bronze's segments, decoded into one Delta table per table definition."""

from __future__ import annotations

__all__ = ["decode", "full_refresh", "job", "plan", "preview", "tables"]
