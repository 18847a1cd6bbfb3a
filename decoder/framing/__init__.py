"""Bytes to checked events: where each one begins and ends, and what its header has."""

from __future__ import annotations

__all__ = ["chunked_reader", "frames", "large_event", "replication_packets", "sliding_buffer"]
