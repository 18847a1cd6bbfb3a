"""The 19 bytes that every v4 event starts with.

Format: MySQL `libs/mysql/binlog/event/binlog_event.h`, `Log_event_header`.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass, replace

from decoder.constants import HEADER_LENGTH, EventFlag, EventType, event_name
from decoder.errors import MalformedError, TruncatedError

_LAYOUT = struct.Struct("<IBIIIH")


@dataclass(frozen=True, slots=True)
class EventHeader:
    """An event's common header, and where it was found.

    An event inside a TRANSACTION_PAYLOAD has the payload's `position`, which is where mysqlbinlog
    finds it, and its own offset in the decompressed payload as `payload_offset`.
    """

    position: int
    """Byte offset in the file."""
    timestamp: int
    """u32: seconds since 1970 when the statement began."""
    type: EventType | int
    """u8: the event's type; a plain int where no server we know of writes that code."""
    server_id: int
    """u32: the server that first logged it."""
    size: int
    """u32: bytes of the whole event, with header and checksum."""
    log_pos: int
    """u32: where the event ends in the log it was first written to; wraps at 4 GiB, 0 in some."""
    flags: EventFlag
    """u16."""
    payload_offset: int | None = None

    @property
    def name(self) -> str:
        """The type's name, as in `EventType`."""
        return event_name(self.type)

    @classmethod
    def parse(cls, buffer: memoryview, offset: int, position: int) -> EventHeader:
        """The header at `offset` of the buffer, which is `position` of the file.

        Raises TruncatedError where fewer bytes are left, MalformedError for a size that is smaller
        than the header itself.
        """
        if len(buffer) - offset < HEADER_LENGTH:
            left = len(buffer) - offset
            raise TruncatedError(f"{left} bytes are left for an event header", position=position)
        timestamp, code, server_id, size, log_pos, flags = _LAYOUT.unpack_from(buffer, offset)
        header = cls(position, timestamp, _type(code), server_id, size, log_pos, EventFlag(flags))
        if size < HEADER_LENGTH:
            raise header.malformed(f"its size {size} is smaller than an event header")
        return header

    def renumbered(self, event_type: int) -> EventHeader:
        """The same header with a type as it is numbered since (see FORMAT_DESCRIPTION)."""
        return self if event_type == self.type else replace(self, type=_type(event_type))

    def inside(self, payload: EventHeader, payload_offset: int) -> EventHeader:
        """The same header for an event found inside the event that `payload` heads."""
        return replace(self, position=payload.position, payload_offset=payload_offset)

    def malformed(self, reason: str) -> MalformedError:
        """An error at this event, to be raised by whoever found the contradiction."""
        return MalformedError(reason, position=self.position, event_type=self.name)


_CODES = frozenset(int(code) for code in EventType)


def _type(code: int) -> EventType | int:
    return EventType(code) if code in _CODES else code
