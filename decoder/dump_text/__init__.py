"""Rows and statements of a dump's text, found by kernels."""

from __future__ import annotations

__all__ = ["rows", "statements"]
