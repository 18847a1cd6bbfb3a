"""What goes into the decoder and comes out: segments, definitions, results, schemas, options."""

from __future__ import annotations

__all__ = ["definition", "lossy_values", "options", "results", "schemas", "segment"]
