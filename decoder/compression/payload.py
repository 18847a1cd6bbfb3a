"""The events inside a TRANSACTION_PAYLOAD: one at a time, or as windows over one reused buffer.

Space is allocated only for bytes that were read, and a payload is read no further than its
announced size, whatever the compression ratio. A window has a few MiB of decompressed events, so
memory does not grow with the payload. It grows only for a larger inner event, step by step with the
bytes actually read, and at most to the largest valid event.

Format: MySQL `libs/mysql/binlog/event/compression/payload_event_buffer_istream.cpp`: whole events
as in the file, without checksums.
"""

from __future__ import annotations

import io
from collections.abc import Iterator, Sequence
from typing import Protocol

import numpy as np
import numpy.typing as npt
import zstandard

from decoder.columns.cells import HEAD_SLACK, SLACK
from decoder.constants import HEADER_LENGTH, EventType
from decoder.events.header import EventHeader
from decoder.events.log_start import DESCRIPTORS
from decoder.events.transaction_payload import Compression, TransactionPayloadEvent
from decoder.framing.chunked_reader import ChunkedReader
from decoder.framing.frames import TYPE, Frames, frame
from decoder.kernels.memory import load_u32
from decoder.transactions.boundaries import GTID_TYPES

INNER_WINDOW = 1 << 22
"""Decompressed bytes that are decoded at a time."""
_MOST_KEPT = 4 * INNER_WINDOW
"""The most bytes of the buffer that are kept for the next payload."""
_PIECE = 1 << 20
"""Bytes read at a time, as an event's announced size may be wrong."""
_INVALID_INSIDE = [int(kind) for kind in (*DESCRIPTORS, EventType.TRANSACTION_PAYLOAD, *GTID_TYPES)]
"""Event types that start a log or a transaction; MySQL writes them before the payload."""


class _PayloadFeed(Protocol):
    def read(self, size: int = -1, /) -> bytes: ...
    def readinto(self, target: memoryview, /) -> int: ...


def _open(event: TransactionPayloadEvent, pieces: Sequence[memoryview]) -> _PayloadFeed:
    """Return the decompressed content of a payload."""
    stored = io.BufferedReader(ChunkedReader(pieces), _PIECE)
    if event.compression == Compression.NONE:
        return stored
    return zstandard.ZstdDecompressor().stream_reader(stored, read_across_frames=True)


# --- one at a time -------------------------------------------------------------------------------


def inner_events(
    payload: TransactionPayloadEvent, content: memoryview
) -> Iterator[tuple[EventHeader, memoryview]]:
    """Yield the header and body of every inner event; `content` is the payload as logged.

    Raises MalformedError if the payload cannot be decompressed, does not have the announced size,
    or contains an incomplete or oversized event.
    """
    source = _open(payload, [content])
    offset = 0
    while head := _read(source, HEADER_LENGTH, payload):
        header = _inner_header(head, offset, payload)
        payload.check_inside(header.size)
        body = _read(source, header.size - HEADER_LENGTH, payload)
        if len(body) < header.size - HEADER_LENGTH:
            raise payload.header.malformed(f"its content ends inside the event at offset {offset}")
        payload.check_expanded(offset + header.size)
        yield header, memoryview(body)
        del body  # free it before the next one is read
        offset += header.size
    if payload.uncompressed_size not in (None, offset):
        raise payload.header.malformed(
            f"its content has {offset} bytes, not the announced {payload.uncompressed_size}"
        )


def _read(source: _PayloadFeed, size: int, payload: TransactionPayloadEvent) -> bytearray:
    """Read `size` bytes, or fewer at the end of the content."""
    found = bytearray()
    while len(found) < size:
        try:
            piece = source.read(min(size - len(found), _PIECE))
        except zstandard.ZstdError as error:
            raise payload.header.malformed(
                f"its content cannot be decompressed: {error}"
            ) from error
        if not piece:
            break
        found += piece
    return found


def _inner_header(head: bytearray, offset: int, payload: TransactionPayloadEvent) -> EventHeader:
    if len(head) < HEADER_LENGTH:
        raise payload.header.malformed(
            f"the last {len(head)} bytes of its content are too few for an event"
        )
    header = EventHeader.parse(memoryview(head), 0, payload.position)
    if header.type in _INVALID_INSIDE:
        raise payload.header.malformed(f"it contains an event of the invalid type {header.name}")
    return header.inside(payload.header, offset)


# --- as windows ----------------------------------------------------------------------------------


class InnerBuffer:
    """A segment decoder's buffer, reused for its payloads."""

    def __init__(self) -> None:
        self.data: npt.NDArray[np.uint8] = np.empty(HEAD_SLACK + SLACK, np.uint8)

    def grow(self, size: int, used: int) -> None:
        """Make space for `size` bytes after the head slack, keeping the first `used`."""
        needed = HEAD_SLACK + size + SLACK
        if needed > len(self.data):
            larger = np.empty(needed, np.uint8)
            larger[HEAD_SLACK : HEAD_SLACK + used] = self.data[HEAD_SLACK : HEAD_SLACK + used]
            self.data = larger

    def shrink(self) -> None:
        """Free the buffer if a large event has enlarged it; the content is lost."""
        if len(self.data) > HEAD_SLACK + _MOST_KEPT + SLACK:
            self.data = np.empty(HEAD_SLACK + SLACK, np.uint8)


def inner_windows(
    event: TransactionPayloadEvent, pieces: Sequence[memoryview], buffer: InnerBuffer
) -> Iterator[Frames]:
    """Yield frames over `buffer.data`, each valid until the next one is requested.

    `pieces` are the payload. Raises MalformedError if it does not decompress to whole events of the
    announced size.
    """
    source = _open(event, pieces)
    announced = event.uncompressed_size
    size = usual = min(INNER_WINDOW, announced or INNER_WINDOW)
    used = total = 0
    while True:
        buffer.grow(size, used)
        read = _fill(source, buffer.data, used, size, event)
        total += read
        event.check_expanded(total)
        used += read
        if used == 0:
            break
        end = HEAD_SLACK + used
        frames = frame(buffer.data, HEAD_SLACK, end, base=0, checksum=False)
        if frames.stopped or has_invalid_types(frames):
            raise event.header.malformed("its content is not a sequence of events")
        if len(frames):
            yield frames
            left = buffer.data[frames.next_offset : end].copy()
            used, size = len(left), usual
            buffer.data[HEAD_SLACK : HEAD_SLACK + used] = left
        elif read == 0:
            raise event.header.malformed(
                f"the last {used} bytes of its content are not a complete event"
            )
        else:
            size = _larger(buffer.data, used, event)
    if announced not in (None, total):
        raise event.header.malformed(
            f"its content has {total} bytes, not the announced {announced}"
        )


def _fill(
    source: _PayloadFeed,
    data: npt.NDArray[np.uint8],
    used: int,
    size: int,
    event: TransactionPayloadEvent,
) -> int:
    """Decompress until the buffer has `size` bytes; return the number of bytes added."""
    view = memoryview(data.data)[HEAD_SLACK + used : HEAD_SLACK + size]
    filled = 0
    try:
        while filled < len(view) and (read := source.readinto(view[filled:])):
            filled += read
    except zstandard.ZstdError as error:
        raise event.header.malformed(f"its content cannot be decompressed: {error}") from error
    return filled


def _larger(data: npt.NDArray[np.uint8], used: int, event: TransactionPayloadEvent) -> int:
    """Return the next size of a window whose first event does not fit into it."""
    wanted = load_u32(data, HEAD_SLACK + 9) if used >= HEADER_LENGTH else HEADER_LENGTH
    event.check_inside(wanted)
    return min(max(wanted, used + 1), 2 * used + _PIECE)


def has_invalid_types(frames: Frames) -> bool:
    """Return True if an event has a type that is invalid inside a payload."""
    return bool(np.isin(frames.table[TYPE], _INVALID_INSIDE).any())
