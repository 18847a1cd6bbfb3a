"""Decompression of transactions and rows events within a memory budget."""

from __future__ import annotations

__all__ = ["compressed_rows", "memory_budget", "payload", "payload_decoder"]
