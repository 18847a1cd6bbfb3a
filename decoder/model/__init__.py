"""The decoder's inputs and outputs: segments, options, table definitions, results, schemas."""

from __future__ import annotations

__all__ = ["definition", "options", "results", "schemas", "segment"]
