"""Effects to new definitions, and to conversions of existing rows."""

from __future__ import annotations

__all__ = ["altered_columns", "generated", "items", "layout_versions"]
