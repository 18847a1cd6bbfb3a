"""One way to read and commit the lake's tables: by delta-rs, or by Spark."""

from __future__ import annotations

__all__ = ["by_spark", "native", "opening", "tables"]
