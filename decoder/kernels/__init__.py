"""Compiled kernels: their compilation, cache and memory access."""

from __future__ import annotations

__all__ = ["cache", "crc32", "memory"]
