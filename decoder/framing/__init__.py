"""Bytes to verified events: their boundaries, header fields and checksums."""

from __future__ import annotations

from decoder.framing.frames import Frames, frame
from decoder.framing.large_event import Checkpoint, LargeEvent
from decoder.framing.replication_packets import (
    LONGEST_PACKET,
    PACKET_HEADER_LENGTH,
    PACKET_SLACK,
    SEMI_SYNC_MAGIC,
    SEQUENCE_AFTER_ACK_REQUEST,
    StopReason,
    Unpacked,
    prefix_of,
    unpack,
)
from decoder.framing.sliding_buffer import WINDOW
from decoder.kernels.crc32 import HEAD

__all__ = [
    "HEAD",
    "LONGEST_PACKET",
    "PACKET_HEADER_LENGTH",
    "PACKET_SLACK",
    "SEMI_SYNC_MAGIC",
    "SEQUENCE_AFTER_ACK_REQUEST",
    "WINDOW",
    "Checkpoint",
    "Frames",
    "LargeEvent",
    "StopReason",
    "Unpacked",
    "chunked_reader",
    "frame",
    "frames",
    "large_event",
    "prefix_of",
    "replication_packets",
    "sliding_buffer",
    "unpack",
]
