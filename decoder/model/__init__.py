"""The decoder's inputs and outputs: segments, options, table definitions, results, schemas."""

from __future__ import annotations

__all__ = ["definition", "lossy_values", "options", "results", "schemas", "segment"]
