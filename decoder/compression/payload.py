"""The events inside a TRANSACTION_PAYLOAD, decompressed one after the other.

Only one of them is in memory at a time, and of its bytes only those that have come. Format: MySQL
`libs/mysql/binlog/event/compression/payload_event_buffer_istream.cpp`: whole events without
checksums, as they would stand in the file.
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
"""Bytes asked for at once: an event's announced size is not trusted with memory."""
NOT_INSIDE = DESCRIPTORS | {
    EventType.TRANSACTION_PAYLOAD,
    *(EventType.GTID, EventType.ANONYMOUS_GTID, EventType.GTID_TAGGED, EventType.MARIADB_GTID),
}
"""Types that say how a log or a transaction begins: MySQL writes them before the payload."""


class _Stream(Protocol):
    def read(self, size: int = -1, /) -> bytes: ...


def inner_events(
    payload: TransactionPayloadEvent, content: memoryview
) -> Iterator[tuple[EventHeader, memoryview]]:
    """Header and body of every event inside; `content` is the payload, compressed as it is.

    Raises MalformedError for bytes that cannot be decompressed, an event that ends beyond them or
    is larger than one can be, or a size that is not the announced one.
    """
    stream = _open(payload, content)
    offset = 0
    while head := _read(stream, HEADER_LENGTH, payload):
        header = _inner_header(head, offset, payload)
        payload.check_inside(header.size)
        body = _read(stream, header.size - HEADER_LENGTH, payload)
        if len(body) < header.size - HEADER_LENGTH:
            raise _malformed(f"it ends inside the event at {offset} of its content", payload)
        payload.check_expanded(offset + header.size)
        yield header, memoryview(body)
        del body  # not to be held while the next one is read
        offset += header.size
    if payload.uncompressed_size not in (None, offset):
        raise _malformed(
            f"it holds {offset} bytes, not {payload.uncompressed_size} as it says", payload
        )


def _open(payload: TransactionPayloadEvent, content: memoryview) -> _Stream:
    if payload.compression == Compression.NONE:
        return io.BytesIO(content)
    return zstandard.ZstdDecompressor().stream_reader(content, read_across_frames=True)


def _read(stream: _Stream, size: int, payload: TransactionPayloadEvent) -> bytearray:
    """That many bytes, or fewer at the content's end."""
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
        raise _malformed(f"its content ends in {len(head)} bytes that are no event", payload)
    header = EventHeader.parse(memoryview(head), 0, payload.position)
    if header.type in NOT_INSIDE:
        raise _malformed(f"it holds an event of type {header.name}", payload)
    return header.inside(payload.header, offset)


def _malformed(reason: str, payload: TransactionPayloadEvent) -> MalformedError:
    return payload.header.malformed(reason)
