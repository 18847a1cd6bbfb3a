"""Where a log can be cut so that each segment decodes on its own."""

from __future__ import annotations

__all__ = ["framer", "log_header", "segmenter", "statistics"]
