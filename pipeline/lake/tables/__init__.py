"""Access to a lake's tables, to read and to commit: by delta-rs or by Spark."""

from __future__ import annotations

__all__ = ["by_spark", "choice", "native", "tables"]
