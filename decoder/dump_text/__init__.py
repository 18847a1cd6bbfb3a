"""Kernels that parse the text of SQL dumps: rows and statement boundaries."""

from __future__ import annotations

__all__ = ["rows", "statements"]
