"""Compiled access to bytes: how kernels are compiled, cached, and touch memory."""

from __future__ import annotations

__all__ = ["cache", "crc32", "memory"]
