"""Iteration over all events of a log as objects: `decoder.events`.

This is for inspection rather than bulk decoding, as it takes microseconds per event. Framing and
checksums are shared with the decoder, so both reject the same input.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, TypeAlias

from decoder.compression.payload import inner_events
from decoder.constants import HEADER_LENGTH, EventType
from decoder.encryption.keys import NO_KEYS, Keys
from decoder.errors import BinlogError, TruncatedError
from decoder.events.event import Event
from decoder.events.format_description import FormatDescriptionEvent
from decoder.events.header import EventHeader
from decoder.events.layout import Layout, first_layout
from decoder.events.log_start import (
    DESCRIPTORS,
    describe,
    descriptor_of,
    descriptors,
    log_start,
    read_descriptor,
)
from decoder.events.registry import parse
from decoder.events.transaction_payload import TransactionPayloadEvent
from decoder.events.unknown import UnknownEvent
from decoder.framing.frames import Frames, frame, header_of
from decoder.kernels.crc32 import HEAD
from decoder.kernels.memory import Bytes
from decoder.segments.log_windows import writable_copy

Data: TypeAlias = Any
"""An object with a buffer: bytes, bytearray, memoryview, numpy array, pyarrow Buffer or mmap."""

_WINDOW = 1 << 20


def events(data: Data, *, file: str = "", keys: Keys = NO_KEYS) -> Iterator[Event]:
    """Yield the events of a file, or of a segment that starts with a FORMAT_DESCRIPTION.

    A TRANSACTION_PAYLOAD is followed by the events inside it (`event.inside_payload`). `data` is
    copied one window at a time; an encrypted log is decrypted as a whole, with `keys`. Raises
    BinlogError, with `file` in its message, at the first error, after yielding the events before
    it.
    """
    try:
        yield from _events(memoryview(keys.decrypted(data, file=file)).cast("B"))
    except BinlogError as error:
        raise error.at(file=file or None) from error


def _events(data: memoryview) -> Iterator[Event]:
    position = log_start(data)
    if position == len(data):
        return
    log = bytes(data[position : position + HEADER_LENGTH])
    layout = first_layout(log)
    description = _description_before(log, position, layout)
    checksum = False
    size = _WINDOW
    while position < len(data):
        window = writable_copy(data[position : position + size])
        base = position - HEAD
        frames = frame(window, HEAD, len(window), base=base, checksum=checksum, layout=layout)
        for header, body in _framed(window, frames, base):
            version = description.binlog_version if description else layout.version
            if header.type in descriptors(version):
                description = describe(body, header)
            yield from _parsed(body, header, description)
        if frames.fault:
            raise frames.fault
        checksum, layout = frames.checksum, frames.layout
        consumed = frames.next_offset - HEAD
        position += consumed
        size = _WINDOW if consumed else _next_size(data, position, layout)


def _description_before(log: bytes, position: int, layout: Layout) -> FormatDescriptionEvent | None:
    """Return the description for a log whose first event is not a descriptor, else None."""
    descriptor = descriptor_of(log, position)
    return None if log[4] in DESCRIPTORS else read_descriptor(descriptor, position)


def _parsed(
    body: memoryview, header: EventHeader, description: FormatDescriptionEvent | None
) -> Iterator[Event]:
    """Yield the event, and those inside it if it is a TRANSACTION_PAYLOAD."""
    if description is None:
        raise header.malformed("the log does not start with FORMAT_DESCRIPTION")
    event = parse(body, header, description)
    yield event
    if isinstance(event, UnknownEvent):
        event.require_ignorable()
    elif isinstance(event, TransactionPayloadEvent):
        content = body[event.payload_offset - HEADER_LENGTH :]
        for inner_header, inner_body in inner_events(event, content):
            yield from _parsed(inner_body, inner_header, description)
            del inner_body  # free it before the next one is read


def _framed(window: Bytes, frames: Frames, base: int) -> Iterator[tuple[EventHeader, memoryview]]:
    """Yield the header and body of framed events up to the first with a wrong checksum."""
    buffer = memoryview(window.data)
    for index in range(len(frames)):
        if not frames.valid[index]:
            return
        offset, body, end = (int(row[index]) for row in (frames.offset, frames.body, frames.end))
        header = header_of(frames.table, index, base + offset)
        if header.type == EventType.FORMAT_DESCRIPTION:
            end = offset + header.size
        yield header, buffer[body:end]


def _next_size(data: memoryview, position: int, layout: Layout) -> int:
    """Return the size of an event that did not fit in a window; TruncatedError if incomplete."""
    header = EventHeader.parse(data, position, position, layout.version)
    left = len(data) - position
    if header.size > left:
        raise TruncatedError(
            f"the log ends after {left} of the event's {header.size} bytes",
            position=position,
            event_type=header.name,
        )
    return header.size
