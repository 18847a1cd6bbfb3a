"""Encode MySQL's binary JSON, for tests, sharing no code with the decoder.

Format: MySQL `sql-common/json_binary.h`. `Opaque` represents a value of an SQL type.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass
from typing import Any

SMALL_LIMIT = 65535


@dataclass(frozen=True)
class Opaque:
    """The bytes of a value of an SQL type."""

    field_type: int
    data: bytes


def encode(value: Any) -> bytes:
    """Encode a document."""
    kind, data = _value(value)
    return bytes([kind]) + data


def length(size: int) -> bytes:
    """Encode a length in seven bits per byte, the lowest first."""
    out = b""
    while size > 127:
        out += bytes([size & 127 | 128])
        size >>= 7
    return out + bytes([size])


def _value(value: Any) -> tuple[int, bytes]:
    if value is None or isinstance(value, bool):
        return 4, bytes([{None: 0, True: 1, False: 2}[value]])
    if isinstance(value, int):
        return _integer(value)
    if isinstance(value, float):
        return 11, struct.pack("<d", value)
    if isinstance(value, str):
        data = value.encode()
        return 12, length(len(data)) + data
    if isinstance(value, Opaque):
        return 15, bytes([value.field_type]) + length(len(value.data)) + value.data
    for large in (False, True):
        data = container(value, large=large)
        if large or len(data) <= SMALL_LIMIT:
            break
    return (2 if isinstance(value, list) else 0) + large, data


def _integer(value: int) -> tuple[int, bytes]:
    for kind, layout, low, high in (
        (5, "<h", -(1 << 15), (1 << 15) - 1),
        (6, "<H", 0, (1 << 16) - 1),
        (7, "<i", -(1 << 31), (1 << 31) - 1),
        (8, "<I", 0, (1 << 32) - 1),
        (9, "<q", -(1 << 63), (1 << 63) - 1),
    ):
        if low <= value <= high:
            return kind, struct.pack(layout, value)
    return 10, struct.pack("<Q", value)


def container(value: list[Any] | dict[str, Any], *, large: bool) -> bytes:
    """Encode an array or object without its type byte; if the small form does not fit, the result
    is too long.
    """
    width = 4 if large else 2
    keys = [key.encode() for key in value] if isinstance(value, dict) else []
    members = list(value.values()) if isinstance(value, dict) else value
    start = 2 * width + (width + 2) * len(keys) + (1 + width) * len(members)
    area = b""
    key_entries = b""
    for key in keys:
        key_entries += _number(start + len(area), width) + struct.pack("<H", len(key))
        area += key
    entries = b""
    for member in members:
        kind, data = _value(member)
        if kind in ((4, 5, 6, 7, 8) if large else (4, 5, 6)):
            entries += bytes([kind]) + data.ljust(width, b"\0")
        else:
            entries += bytes([kind]) + _number(start + len(area), width)
            area += data
    header = _number(len(members), width) + _number(start + len(area), width)
    return header + key_entries + entries + area


def _number(value: int, width: int) -> bytes:
    return (value & ((1 << 8 * width) - 1)).to_bytes(width, "little")
