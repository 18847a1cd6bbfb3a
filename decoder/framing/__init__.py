"""Bytes to verified events: their boundaries, header fields and checksums."""

from __future__ import annotations

__all__ = ["chunked_reader", "frames", "large_event", "replication_packets", "sliding_buffer"]
