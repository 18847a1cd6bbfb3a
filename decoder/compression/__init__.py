"""Compressed transactions and rows events, expanded within a budget of memory."""

from __future__ import annotations

__all__ = ["compressed_rows", "memory_budget", "oversized_payload", "payload", "payload_decoder"]
