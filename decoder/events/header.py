"""The common header of every event: 19 bytes, or 13 in version 1 of the format.

Format: MySQL `libs/mysql/binlog/event/binlog_event.h`, `Log_event_header`; for versions 1 and 3
MariaDB `sql/log_event.cc`, `Log_event::Log_event`.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass, replace

from decoder.constants import HEADER_LENGTH, EventFlag, EventType, event_name
from decoder.errors import MalformedError, TruncatedError, UnsupportedError
from decoder.events.layout import LAST_TYPE_BEFORE_V4, header_length

_FIELDS = struct.Struct("<IBIIIH")
_FIELDS_V1 = struct.Struct("<IBII")


@dataclass(frozen=True, slots=True)
class EventHeader:
    """An event's common header and its position.

    An event inside a TRANSACTION_PAYLOAD has the payload's `position`, as in mysqlbinlog, and its
    own offset in the decompressed payload as `payload_offset`.
    """

    position: int
    """Byte offset in the file."""
    timestamp: int
    """u32: seconds since 1970 when the statement began."""
    type: EventType | int
    """u8: the event's type; a plain int for an unknown code."""
    server_id: int
    """u32: the server that first logged it."""
    size: int
    """u32: bytes of the whole event, with header and checksum."""
    log_pos: int
    """u32: end of the event in the log that it was first written to; wraps at 4 GiB, 0 in some.

    Version 3 logs the start, which is converted to the end here; version 1 has no such field, which
    is 0 here."""
    flags: EventFlag
    """u16; empty in version 1."""
    length: int = HEADER_LENGTH
    """Bytes of the header itself."""
    payload_offset: int | None = None

    @property
    def name(self) -> str:
        """The type's name, as in `EventType`."""
        return event_name(self.type)

    @classmethod
    def parse(cls, buffer: memoryview, offset: int, position: int, version: int = 4) -> EventHeader:
        """Read the header at `offset` of the buffer, which is at `position` in the file.

        `version` is the log's binlog version: 1, 3 or 4. Raises TruncatedError if the buffer ends
        inside the header, and MalformedError for a size smaller than the header itself.
        """
        length = header_length(version)
        if len(buffer) - offset < length:
            left = len(buffer) - offset
            raise TruncatedError(
                f"{left} bytes are left, too few for an event header", position=position
            )
        if version == 1:
            timestamp, code, server_id, size = _FIELDS_V1.unpack_from(buffer, offset)
            log_pos = flags = 0
        else:
            timestamp, code, server_id, size, log_pos, flags = _FIELDS.unpack_from(buffer, offset)
        if version == 3 and log_pos and code <= LAST_TYPE_BEFORE_V4:
            log_pos = (log_pos + size) & 0xFFFFFFFF
        kind = event_type(code)
        header = cls(position, timestamp, kind, server_id, size, log_pos, EventFlag(flags), length)
        if size < length:
            raise header.malformed(f"the event size {size} is smaller than an event header")
        return header

    def inside(self, payload: EventHeader, payload_offset: int) -> EventHeader:
        """Return this header as that of an event inside the event with header `payload`."""
        return replace(self, position=payload.position, payload_offset=payload_offset)

    def malformed(self, reason: str) -> MalformedError:
        """Return an error for this event, for the caller to raise."""
        return MalformedError(reason, position=self.position, event_type=self.name)

    def unsupported(self, reason: str) -> UnsupportedError:
        """Return an error for this event, for the caller to raise."""
        return UnsupportedError(reason, position=self.position, event_type=self.name)


def event_type(code: int) -> EventType | int:
    """Return the event type with this code, or the code itself if it is unknown."""
    return EventType(code) if code in _CODES else code


_CODES = frozenset(int(code) for code in EventType)
