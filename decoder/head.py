"""The first events of a file: what identifies it and says how the rest is written."""

from __future__ import annotations

import hashlib
import zlib
from dataclasses import dataclass, replace

import numpy as np

from decoder.constants import CHECKSUM_LENGTH, HEADER_LENGTH, MAGIC, EventFlag, EventType
from decoder.crc32 import HEAD
from decoder.descriptor import DESCRIPTORS, descriptor_of, read_descriptor
from decoder.errors import ChecksumError, TruncatedError
from decoder.events.format_description import FormatDescriptionEvent
from decoder.events.previous_gtids import PreviousGtidsEvent
from decoder.events.registry import parse
from decoder.framer import FLAGS_POSITION, has_in_use_flag, magic_fault
from decoder.framing import frame
from decoder.header import EventHeader
from decoder.layout import V4, Layout, first_layout

_ALWAYS_PREVIOUS_GTIDS = (5, 7, 0)


@dataclass(frozen=True, slots=True)
class Head:
    """A file's FORMAT_DESCRIPTION, and its PREVIOUS_GTIDS where it has one.

    `incarnation` identifies the file beyond its name: a hash of both events with the in-use flag
    cleared, for closing the file clears it.
    """

    incarnation: str
    description: FormatDescriptionEvent
    previous_gtids: str | None

    @property
    def relay(self) -> bool:
        """Whether a replica wrote it as a relay log."""
        return EventFlag.RELAY_LOG in self.description.flags

    @property
    def restarted(self) -> bool:
        """Whether the server started with this file, instead of going on from the one before."""
        return self.description.created != 0


def read_head(data: bytes) -> Head:
    """The head of a file of which `data` is the beginning.

    Raises BinlogError for what is no binary log or is damaged; TruncatedError where `data` ends
    before the head does. A version 3 file without START_V3 is identified by its first event.
    """
    fault = magic_fault(data[: len(MAGIC)])
    if fault is not None:
        raise fault
    cleared = bytearray(data)
    if has_in_use_flag(data):
        cleared[FLAGS_POSITION] &= 0xFF ^ EventFlag.BINLOG_IN_USE
    log = data[len(MAGIC) :]
    layout = first_layout(log)
    first = _event(bytes(cleared), len(MAGIC), layout)
    description = read_descriptor(descriptor_of(log, len(MAGIC)), len(MAGIC))
    if log[4] not in DESCRIPTORS:
        header = EventHeader.parse(memoryview(log), 0, len(MAGIC), layout.version)
        description = replace(description, header=header)
    digest = hashlib.sha256(first)
    previous = None
    if layout.version == V4.version:
        _verify_description(first, description)
        second = _previous_gtids(bytes(cleared), len(MAGIC) + len(first), description)
        if second is not None:
            raw, event = second
            digest.update(raw)
            previous = str(event.gtid_set)
    return Head(digest.hexdigest()[:32], description, previous)


def read_description(events: bytes) -> FormatDescriptionEvent:
    """How the events of a segment, its preamble or a file are laid out, by what they start with."""
    position = len(MAGIC) if events[: len(MAGIC)] == MAGIC else 0
    return read_descriptor(descriptor_of(events[position:], position), position)


def _verify_description(event: bytes, description: FormatDescriptionEvent) -> None:
    """Framing verifies it only if it takes the version for one that has checksums."""
    if description.has_own_checksum:
        stored = int.from_bytes(event[-CHECKSUM_LENGTH:], "little")
        if zlib.crc32(event[:-CHECKSUM_LENGTH]) != stored:
            raise ChecksumError(
                "the checksum does not match",
                position=description.position,
                event_type=description.name,
            )


def _previous_gtids(
    data: bytes, position: int, description: FormatDescriptionEvent
) -> tuple[bytes, PreviousGtidsEvent] | None:
    version_has_it = description.version >= _ALWAYS_PREVIOUS_GTIDS and not description.mariadb
    if len(data) == position and not version_has_it:
        return None
    header = EventHeader.parse(memoryview(data), position, position)
    if header.type != EventType.PREVIOUS_GTIDS:
        if len(data) - position >= header.size:
            _event(data, position, V4, checksum=bool(description.checksum_length))
        return None
    raw = _event(data, position, V4, checksum=bool(description.checksum_length))
    body = raw[HEADER_LENGTH : len(raw) - description.checksum_length]
    event = parse(memoryview(body), header, description)
    return (raw, event) if isinstance(event, PreviousGtidsEvent) else None


def _event(data: bytes, position: int, layout: Layout, *, checksum: bool = False) -> bytes:
    """An event's bytes, its checksum verified."""
    header = EventHeader.parse(memoryview(data), position, position, layout.version)
    content = data[position : position + header.size]
    if len(content) < header.size:
        raise TruncatedError(
            "the file ends inside this event", position=position, event_type=header.name
        )
    window = np.zeros(HEAD + len(content), np.uint8)
    window[HEAD:] = np.frombuffer(content, np.uint8)
    frames = frame(
        window, HEAD, len(window), base=position - HEAD, checksum=checksum, layout=layout
    )
    if frames.fault is not None:
        raise frames.fault
    return content
