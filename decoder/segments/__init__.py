"""Splitting of logs into segments that can be decoded independently."""

from __future__ import annotations

from decoder.segments.log_header import (
    Head,
    description_bytes,
    read_description,
    read_head,
    server_version,
)
from decoder.segments.log_windows import FLAGS_POSITION, has_in_use_flag, writable_copy
from decoder.segments.segment_bounds import SegmentBounds
from decoder.segments.statistics import EventStatistics

__all__ = [
    "FLAGS_POSITION",
    "EventStatistics",
    "Head",
    "SegmentBounds",
    "description_bytes",
    "has_in_use_flag",
    "log_windows",
    "read_description",
    "read_head",
    "segment_bounds",
    "server_version",
    "writable_copy",
]
