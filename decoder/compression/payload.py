"""The events inside a TRANSACTION_PAYLOAD, decompressed one at a time.

Only one event is in memory at a time, and space is allocated only for bytes that were read. Format:
MySQL `libs/mysql/binlog/event/compression/payload_event_buffer_istream.cpp`: whole events as in the
file, without checksums.
"""

from __future__ import annotations

import io
from collections.abc import Iterator
from typing import Protocol

import zstandard

from decoder.constants import HEADER_LENGTH, EventType
from decoder.errors import MalformedError
from decoder.events.format_descriptor import DESCRIPTORS
from decoder.events.header import EventHeader
from decoder.events.transaction_payload import Compression, TransactionPayloadEvent

_PIECE = 1 << 20
"""Bytes read at a time, as an event's announced size may be wrong."""
INVALID_INSIDE = DESCRIPTORS | {
    EventType.TRANSACTION_PAYLOAD,
    *(EventType.GTID, EventType.ANONYMOUS_GTID, EventType.GTID_TAGGED, EventType.MARIADB_GTID),
}
"""Event types that start a log or a transaction; MySQL writes them before the payload."""


class _Stream(Protocol):
    def read(self, size: int = -1, /) -> bytes: ...


def inner_events(
    payload: TransactionPayloadEvent, content: memoryview
) -> Iterator[tuple[EventHeader, memoryview]]:
    """Yield the header and body of every inner event; `content` is the payload as logged.

    Raises MalformedError if the payload cannot be decompressed, does not have the announced size,
    or contains an incomplete or oversized event.
    """
    stream = _open(payload, content)
    offset = 0
    while head := _read(stream, HEADER_LENGTH, payload):
        header = _inner_header(head, offset, payload)
        payload.check_inside(header.size)
        body = _read(stream, header.size - HEADER_LENGTH, payload)
        if len(body) < header.size - HEADER_LENGTH:
            raise _malformed(f"its content ends inside the event at offset {offset}", payload)
        payload.check_expanded(offset + header.size)
        yield header, memoryview(body)
        del body  # free it before the next one is read
        offset += header.size
    if payload.uncompressed_size not in (None, offset):
        raise _malformed(
            f"its content has {offset} bytes, not the announced {payload.uncompressed_size}",
            payload,
        )


def _open(payload: TransactionPayloadEvent, content: memoryview) -> _Stream:
    if payload.compression == Compression.NONE:
        return io.BytesIO(content)
    return zstandard.ZstdDecompressor().stream_reader(content, read_across_frames=True)


def _read(stream: _Stream, size: int, payload: TransactionPayloadEvent) -> bytearray:
    """Read `size` bytes, or fewer at the end of the content."""
    found = bytearray()
    while len(found) < size:
        try:
            piece = stream.read(min(size - len(found), _PIECE))
        except zstandard.ZstdError as error:
            raise _malformed(f"its content cannot be decompressed: {error}", payload) from error
        if not piece:
            break
        found += piece
    return found


def _inner_header(head: bytearray, offset: int, payload: TransactionPayloadEvent) -> EventHeader:
    if len(head) < HEADER_LENGTH:
        raise _malformed(
            f"the last {len(head)} bytes of its content are too few for an event", payload
        )
    header = EventHeader.parse(memoryview(head), 0, payload.position)
    if header.type in INVALID_INSIDE:
        raise _malformed(f"it contains an event of the invalid type {header.name}", payload)
    return header.inside(payload.header, offset)


def _malformed(reason: str, payload: TransactionPayloadEvent) -> MalformedError:
    return payload.header.malformed(reason)
