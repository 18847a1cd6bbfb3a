"""Every event of a log as an object, in order: `decoder.events`.

For looking at a log, not for decoding it in bulk: an object per event costs microseconds each.
Framing and checksums are the decoder's own, so what is refused here is what decoding refuses.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, TypeAlias

import numpy as np

from decoder.constants import HEADER_LENGTH, MAGIC, EventType
from decoder.crc32 import HEAD
from decoder.encryption.keys import NO_KEYS, Keys
from decoder.encryption.mariadb import refuse_mariadb_encryption
from decoder.errors import (
    BinlogError,
    MalformedError,
    NotABinlogError,
    TruncatedError,
    UnsupportedError,
)
from decoder.events.event import Event
from decoder.events.format_description import FormatDescriptionEvent
from decoder.events.registry import parse
from decoder.events.transaction_payload import TransactionPayloadEvent
from decoder.framing import Frames, frame
from decoder.header import EventHeader
from decoder.memory import Bytes
from decoder.payload import inner_events

Data: TypeAlias = Any
"""bytes, bytearray, memoryview, a numpy array, a pyarrow Buffer, an mmap: what has a buffer."""

_WINDOW = 1 << 20


def events(data: Data, *, file: str = "", keys: Keys = NO_KEYS) -> Iterator[Event]:
    """The events of a whole file, or of a segment that starts with its FORMAT_DESCRIPTION.

    A TRANSACTION_PAYLOAD is followed by the events inside it (`event.inside_payload`). `data` is
    copied a window at a time; an encrypted log, which `keys` open, as a whole. Raises BinlogError,
    with `file` in its message, at the first fault; the events before it have been given.
    """
    try:
        yield from _events(memoryview(keys.decrypted(data, file=file)).cast("B"))
    except BinlogError as error:
        raise error.at(file=file or None) from error


def _events(data: memoryview) -> Iterator[Event]:
    position = _first_event(data)
    description: FormatDescriptionEvent | None = None
    size = _WINDOW
    while position < len(data):
        window = _window(data, position, size)
        checksum = bool(description and description.checksum_length)
        base = position - HEAD
        frames = frame(window, HEAD, len(window), base=base, checksum=checksum)
        for header, body in _framed(window, frames, base):
            description = _description(header, body, description)
            header = header.renumbered(description.todays_type(header.type))
            event = parse(body, header, description)
            yield event
            refuse_mariadb_encryption(header)
            if isinstance(event, TransactionPayloadEvent):
                content = body[event.payload_offset - HEADER_LENGTH :]
                for inner_header, inner_body in inner_events(event, content):
                    yield parse(inner_body, inner_header, description)
        if frames.fault:
            raise frames.fault
        consumed = frames.next_offset - HEAD
        position += consumed
        size = _WINDOW if consumed else _next_size(data, position)


def _first_event(data: memoryview) -> int:
    """Where the first event stands: behind the magic number, or at once in a segment."""
    magic = bytes(data[: len(MAGIC)])
    if magic == MAGIC:
        return len(MAGIC)
    if len(data) > HEADER_LENGTH and data[4] == EventType.FORMAT_DESCRIPTION:
        return 0
    if not data:
        raise NotABinlogError("it is empty", position=0)
    raise NotABinlogError(
        f"it starts with {magic.hex(' ')}, not with a binary log's fe 62 69 6e", position=0
    )


def _window(data: memoryview, position: int, size: int) -> Bytes:
    """A writable copy of the next bytes, behind those that the checksum's folding may read."""
    content = np.frombuffer(data[position : position + size], np.uint8)
    window = np.zeros(HEAD + len(content), np.uint8)
    window[HEAD:] = content
    return window


def _framed(window: Bytes, frames: Frames, base: int) -> Iterator[tuple[EventHeader, memoryview]]:
    """Header and body of the framed events, up to the first whose checksum does not match."""
    buffer = memoryview(window.data)
    for offset, end, size, valid in zip(
        frames.offset.tolist(),
        frames.end.tolist(),
        frames.size.tolist(),
        frames.valid.tolist(),
        strict=True,
    ):
        if not valid:
            return
        header = EventHeader.parse(buffer, offset, base + offset)
        if header.type == EventType.FORMAT_DESCRIPTION:
            end = offset + size
        yield header, buffer[offset + HEADER_LENGTH : end]


def _description(
    header: EventHeader, body: memoryview, description: FormatDescriptionEvent | None
) -> FormatDescriptionEvent:
    """The description in force for an event: its own if it is one."""
    if header.type == EventType.FORMAT_DESCRIPTION:
        return FormatDescriptionEvent.parse(body, header, description)
    if description is not None:
        return description
    if header.type == EventType.START_V3:
        reason = "the log is older than MySQL 5.0 (binlog version 3 or less)"
        raise UnsupportedError(reason, position=header.position, event_type=header.name)
    raise MalformedError(
        "the log does not start with FORMAT_DESCRIPTION",
        position=header.position,
        event_type=header.name,
    )


def _next_size(data: memoryview, position: int) -> int:
    """Bytes of the event that did not fit in a window; TruncatedError if not all of it is there."""
    header = EventHeader.parse(data, position, position)
    left = len(data) - position
    if header.size > left:
        raise TruncatedError(
            f"the log ends {left} bytes into an event of {header.size}",
            position=position,
            event_type=header.name,
        )
    return header.size
