"""Few changes of small tables, applied by this process in Arrow, without Spark."""

from __future__ import annotations

__all__ = ["fold", "merge", "table"]
