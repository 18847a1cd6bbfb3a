"""A binlog dump built byte by byte: packets of events as a server sends them."""

from __future__ import annotations

import struct
import zlib
from collections.abc import Iterable, Sequence

from decoder.constants import EventFlag, EventType
from decoder.framing.replication_packets import SEMI_SYNC_MAGIC
from pipeline.source.capture.dump_items import LogBytes, Received
from pipeline.source.capture.dump_stream import DumpStream
from tests.support.decoder.event_bytes import MAGIC, event_bytes, format_description

LONGEST = 0xFFFFFF
OK = b"\0"
OK_SEMI_SYNC = bytes([0, SEMI_SYNC_MAGIC, 0])
ASKING = bytes([0, SEMI_SYNC_MAGIC, 1])
"""Precedes an event that requests an acknowledgement; the next packet has number 1."""


def packets(payloads: Iterable[bytes], first: int = 1) -> bytes:
    """Return payloads as packets numbered from `first`; long ones span several packets."""
    made = []
    for payload in payloads:
        rest = payload
        while True:
            part, rest = rest[:LONGEST], rest[LONGEST:]
            made.append(struct.pack("<I", len(part) | (first & 0xFF) << 24) + part)
            first += 1
            if len(part) < LONGEST:
                break
        if payload.startswith(ASKING):
            first = 1
    return b"".join(made)


def rotate(file: str, position: int = 4) -> bytes:
    """Return the artificial ROTATE that names the next file."""
    body = struct.pack("<Q", position) + file.encode()
    return event_bytes(EventType.ROTATE, body, flags=EventFlag.ARTIFICIAL)


def placed(
    bodies: Sequence[tuple[EventType, bytes]], *, start: int, checksum: bool = False
) -> list[bytes]:
    """Return consecutive events of those types and bodies, starting at position `start`."""
    events = []
    for kind, body in bodies:
        size = 19 + len(body) + 4 * checksum
        start += size
        events.append(event_bytes(kind, body, log_pos=start & 0xFFFFFFFF, checksum=checksum))
    return events


def description(*, checksum: bool = False) -> bytes:
    """Return a file's own FORMAT_DESCRIPTION, including its end position."""
    made = bytearray(format_description(algorithm=int(checksum)))
    made[13:17] = struct.pack("<I", len(MAGIC) + len(made))
    return bytes(made[:-4]) + struct.pack("<I", zlib.crc32(made[:-4]))


def taken(stream: DumpStream, data: bytes, step: int) -> list[Received]:
    """Return the items of a stream that receives at most `step` bytes at a time."""
    found: list[Received] = []
    at = 0
    while at < len(data):
        room = stream.room()[:step]
        part = data[at : at + len(room)]
        room[: len(part)] = part
        at += len(part)
        for item in stream.received(len(part)):
            found.append(item)
    return found


def bytes_of(items: Iterable[Received]) -> bytes:
    """Return the log's bytes in these items, which must be contiguous."""
    landed = b""
    for item in items:
        if isinstance(item, LogBytes):
            assert item.position == len(landed)
            landed += bytes(item.data)
    return landed
