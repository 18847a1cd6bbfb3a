"""Decompression within a memory budget: MySQL's transaction payloads, MariaDB's rows events."""

from __future__ import annotations

__all__ = ["compressed_rows", "memory_budget", "payload", "payload_decoder"]
