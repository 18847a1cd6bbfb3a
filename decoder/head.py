"""The first events of a file: what identifies it and says how the rest is written."""

from __future__ import annotations

import hashlib
import zlib
from dataclasses import dataclass

import numpy as np

from decoder.constants import CHECKSUM_LENGTH, HEADER_LENGTH, MAGIC, EventFlag, EventType
from decoder.crc32 import HEAD
from decoder.encryption.mariadb import refuse_mariadb_encryption
from decoder.errors import ChecksumError, TruncatedError
from decoder.events.format_description import FormatDescriptionEvent
from decoder.events.previous_gtids import PreviousGtidsEvent
from decoder.events.registry import parse
from decoder.framer import FLAGS_POSITION, magic_fault
from decoder.framing import frame
from decoder.header import EventHeader

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
    before the head does.
    """
    fault = magic_fault(data[: len(MAGIC)])
    if fault is not None:
        raise fault
    cleared = bytearray(data)
    if len(cleared) > FLAGS_POSITION:
        cleared[FLAGS_POSITION] &= 0xFF ^ EventFlag.BINLOG_IN_USE
    first, body = _event(bytes(cleared), len(MAGIC))
    header = EventHeader.parse(memoryview(data), len(MAGIC), len(MAGIC))
    if header.type != EventType.FORMAT_DESCRIPTION:
        raise header.malformed("the first event is no FORMAT_DESCRIPTION")
    description = FormatDescriptionEvent.parse(memoryview(body), header, None)
    _verify_description(first, description)
    end = len(MAGIC) + len(first)
    second = _previous_gtids(bytes(cleared), end, description)
    digest = hashlib.sha256(first)
    previous = None
    if second is not None:
        raw, event = second
        digest.update(raw)
        previous = str(event.gtid_set)
    return Head(digest.hexdigest()[:32], description, previous)


def read_description(events: bytes) -> FormatDescriptionEvent:
    """The FORMAT_DESCRIPTION that a segment, its preamble or a file starts with."""
    position = len(MAGIC) if events[: len(MAGIC)] == MAGIC else 0
    header = EventHeader.parse(memoryview(events), position, position)
    body = events[position + HEADER_LENGTH : position + header.size]
    return FormatDescriptionEvent.parse(memoryview(body), header, None)


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
    refuse_mariadb_encryption(header)
    if header.type != EventType.PREVIOUS_GTIDS:
        if len(data) - position >= header.size:
            _event(data, position, checksum=bool(description.checksum_length))
        return None
    raw, body = _event(data, position, checksum=bool(description.checksum_length))
    event = parse(memoryview(body), header, description)
    return (raw, event) if isinstance(event, PreviousGtidsEvent) else None


def _event(data: bytes, position: int, *, checksum: bool = False) -> tuple[bytes, bytes]:
    """An event's bytes and its body, its checksum verified.

    The body of a FORMAT_DESCRIPTION keeps the checksum.
    """
    header = EventHeader.parse(memoryview(data), position, position)
    content = data[position : position + header.size]
    if len(content) < header.size:
        raise TruncatedError(
            "the file ends inside this event", position=position, event_type=header.name
        )
    window = np.zeros(HEAD + len(content), np.uint8)
    window[HEAD:] = np.frombuffer(content, np.uint8)
    frames = frame(window, HEAD, len(window), base=position - HEAD, checksum=checksum)
    if frames.fault is not None:
        raise frames.fault
    end = header.size
    if header.type != EventType.FORMAT_DESCRIPTION:
        end = int(frames.end[0]) - HEAD
    return content, content[HEADER_LENGTH:end]
