"""Compressed transactions as windows of events: small payloads together, a large one in several.

A log of small transactions has as many payloads of a few events each, so a separate run of the
passes for each would be too slow. Payloads are decompressed consecutively into one buffer until a
window is full, and their events go through the passes together. A payload with a problem (it does
not decompress to whole events of the announced size) is decoded separately, to report its error.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import zstandard

from decoder.columns.cells import HEAD_SLACK
from decoder.compression.payload import (
    INNER_WINDOW,
    InnerBuffer,
    has_invalid_types,
    inner_windows,
)
from decoder.constants import HEADER_LENGTH
from decoder.errors import BinlogError
from decoder.events.format_description import FormatDescriptionEvent
from decoder.events.transaction_payload import Compression, TransactionPayloadEvent
from decoder.framing.chunked_reader import slice_chunks
from decoder.framing.frames import END, OFFSET, SIZE, Frames, frame
from decoder.kernels.memory import Array, Bytes, kernel, load_i64, load_u8, load_u16, load_u24
from decoder.transactions.event_window import Window
from decoder.transactions.faults import Fault, fault_of
from decoder.transactions.state import Session

# Columns of the results of `read_heads`. If READABLE is 0, the others are not set.
READABLE, COMPRESSION, UNCOMPRESSED, CONTENT, LENGTH = range(5)
HEAD_FIELDS = 5
_ZSTD, _NONE = int(Compression.ZSTD), int(Compression.NONE)
_END, _PAYLOAD_SIZE, _COMPRESSION, _UNCOMPRESSED_SIZE = range(4)
_MAX_FIELDS = 16


@dataclass(frozen=True, slots=True)
class Payload:
    """A payload that is decoded by itself: the event `event` of `window`, and its content."""

    window: Window
    event: int
    parsed: TransactionPayloadEvent
    pieces: Sequence[memoryview]

    @property
    def fits_a_window(self) -> bool:
        """True if its events are decoded as one window."""
        size = self.parsed.uncompressed_size
        return size is not None and size <= INNER_WINDOW


class PayloadDecoder:
    """Decoder of TRANSACTION_PAYLOADs; a window is valid until the next one is requested."""

    def __init__(self, session: Session) -> None:
        self._session = session
        self._buffer = InnerBuffer()
        self._decompressor = zstandard.ZstdDecompressor()

    def together(
        self, window: Window, events: list[int], description: FormatDescriptionEvent | None
    ) -> Iterator[Window | Payload | Fault]:
        """Yield windows with the events of the payload events `events` of the window.

        Those that cannot be part of such a window are yielded as payloads, or as faults.
        """
        heads = np.zeros((len(events), HEAD_FIELDS), np.int64)
        read_heads(window.buffer, window.table, np.array(events, np.int64), heads)
        batch: list[int] = []
        total = 0
        for index, (readable, _, size, _, _) in enumerate(heads.tolist()):
            if not readable or size > INNER_WINDOW:
                yield _alone(window, events[index], description)
                continue
            if total + size > INNER_WINDOW:
                yield from self._batch(window, events, heads, batch, description)
                batch, total = [], 0
            batch.append(index)
            total += size
        yield from self._batch(window, events, heads, batch, description)

    def windows(self, payload: Payload) -> Iterator[Window]:
        """Yield a payload's events window by window.

        Raises MalformedError if it does not decompress to whole events of the announced size.
        """
        transaction = payload.window.transaction[payload.event]
        position = payload.window.position[payload.event]
        try:
            for frames in inner_windows(payload.parsed, payload.pieces, self._buffer):
                yield self._session.enter_payloads(
                    self._buffer.data,
                    frames,
                    np.full(len(frames), transaction, np.int64),
                    np.full(len(frames), position, np.int64),
                )
        finally:
            self._buffer.shrink()

    def _batch(
        self,
        window: Window,
        events: list[int],
        heads: npt.NDArray[np.int64],
        batch: list[int],
        description: FormatDescriptionEvent | None,
    ) -> Iterator[Window | Payload | Fault]:
        taken, ends = self._decompress(window, heads, batch)
        alone = [events[index] for index in sorted(set(batch) - set(taken))]
        if taken:
            frames = frame(self._buffer.data, HEAD_SLACK, ends[-1], base=0, checksum=False)
            if _hold_whole_events(frames, ends):
                owner = np.searchsorted(np.array(ends), frames.table[OFFSET], side="right")
                index = np.array([events[index] for index in taken])[owner]
                yield self._session.enter_payloads(
                    self._buffer.data, frames, window.transaction[index], window.position[index]
                )
            else:
                alone = [events[index] for index in batch]
        for event in alone:
            yield _alone(window, event, description)

    def _decompress(
        self, window: Window, heads: npt.NDArray[np.int64], batch: list[int]
    ) -> tuple[list[int], list[int]]:
        """Fill the buffer; return the payloads of the batch that are in it, and their ends."""
        taken, ends = [], []
        self._buffer.grow(int(heads[batch, UNCOMPRESSED].sum()), 0)
        source, target = memoryview(window.buffer.data), memoryview(self._buffer.data.data)
        position = HEAD_SLACK
        for index in batch:
            _, compression, size, start, length = heads[index].tolist()
            content = self._content(source[start : start + length], compression, size)
            if content is None:
                continue
            target[position : position + size] = content
            position += size
            taken.append(index)
            ends.append(position)
        return taken, ends

    def _content(
        self, content: memoryview, compression: int, size: int
    ) -> memoryview | bytes | None:
        """Return `size` bytes of events; None if the payload must be decoded separately."""
        if compression == _NONE:
            return content if len(content) == size else None
        try:
            announced = zstandard.get_frame_parameters(content).content_size
            if announced not in (size, zstandard.CONTENTSIZE_UNKNOWN):
                return None
            found = self._decompressor.decompress(
                content, max_output_size=size, allow_extra_data=False
            )
        except zstandard.ZstdError:
            return None
        return found if len(found) == size else None


def oversized(window: Window, pieces: Sequence[memoryview]) -> Payload | Fault:
    """Return the payload that is the only event of `window`, which has its first bytes.

    `pieces` are all bytes of the event except its checksum.
    """
    length = sum(map(len, pieces)) - HEADER_LENGTH
    first_bytes = memoryview(window.buffer.data)[HEADER_LENGTH:]
    try:
        parsed = TransactionPayloadEvent.parse_prefix(first_bytes, window.header(0), length)
    except BinlogError as error:
        return fault_of(window, 0, error)
    content = slice_chunks(pieces, parsed.payload_offset, HEADER_LENGTH + length)
    return Payload(window, 0, parsed, list(content))


def _alone(
    window: Window, event: int, description: FormatDescriptionEvent | None
) -> Payload | Fault:
    try:
        parsed = window.parse(event, description, TransactionPayloadEvent)
    except BinlogError as error:
        return fault_of(window, event, error)
    start = int(window.table[OFFSET, event]) + parsed.payload_offset
    content = memoryview(window.buffer.data)[start : start + parsed.payload_size]
    return Payload(window, event, parsed, [content])


def _hold_whole_events(frames: Frames, ends: list[int]) -> bool:
    """Return True if each payload ends with an event and all event types are valid inside."""
    if frames.stopped or frames.next_offset != ends[-1]:
        return False
    if has_invalid_types(frames):
        return False
    event_ends = frames.table[OFFSET] + frames.table[SIZE]
    found = np.searchsorted(event_ends, ends)
    return bool((event_ends[np.minimum(found, len(event_ends) - 1)] == ends).all())


@kernel
def read_heads(buffer: Bytes, table: Array, events: Array, heads: Array) -> None:
    """Read the fields before the payload of each event (see `transaction_payload`)."""
    for index in range(len(events)):
        read_head(buffer, table, events[index], heads, index)


@kernel
def read_head(buffer: Bytes, table: Array, event: int, heads: Array, index: int) -> None:
    """Read the fields before the payload of one event into a cleared row of `heads`."""
    position = table[OFFSET, event] + HEADER_LENGTH
    end = table[END, event]
    size = -1
    kind = -1
    for _ in range(_MAX_FIELDS):
        kind, position = length_encoded(buffer, position, end)
        if kind == _END:
            break
        length, position = length_encoded(buffer, position, end)
        value, _ = length_encoded(buffer, position, end)
        if kind < 0 or length < 0 or value < 0 or position + length > end:
            kind = -1
            break
        if kind == _PAYLOAD_SIZE:
            size = value
        elif kind == _COMPRESSION:
            heads[index, COMPRESSION] = value
        elif kind == _UNCOMPRESSED_SIZE:
            heads[index, UNCOMPRESSED] = value
        position += length
    known = heads[index, COMPRESSION] == _ZSTD or heads[index, COMPRESSION] == _NONE
    if kind == _END and known and size == end - position and heads[index, UNCOMPRESSED] > 0:
        heads[index, READABLE] = 1
        heads[index, CONTENT] = position
        heads[index, LENGTH] = size


@kernel
def length_encoded(buffer: Bytes, position: int, end: int) -> tuple[int, int]:
    """Read a length-encoded integer; return it and its end, or −1 if it extends beyond `end`."""
    if position >= end:
        return -1, end
    first = load_u8(buffer, position)
    if first < 251:
        return first, position + 1
    if first == 252 and position + 3 <= end:
        return load_u16(buffer, position + 1), position + 3
    if first == 253 and position + 4 <= end:
        return load_u24(buffer, position + 1), position + 4
    if first == 254 and position + 9 <= end:
        return load_i64(buffer, position + 1), position + 9
    return -1, end
