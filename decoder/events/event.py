"""What all events have in common."""

from __future__ import annotations

from dataclasses import dataclass

from decoder.constants import EventFlag, EventType
from decoder.events.header import EventHeader


@dataclass(frozen=True, slots=True)
class Event:
    """An event's header; every kind of event adds its own fields.

    The header's fields can be read at the event itself: `event.position`, `event.timestamp`, ….
    """

    header: EventHeader

    @property
    def position(self) -> int:
        """Byte offset in the file; for an event inside a payload, the payload's."""
        return self.header.position

    @property
    def timestamp(self) -> int:
        """Seconds since 1970."""
        return self.header.timestamp

    @property
    def type(self) -> EventType | int:
        """The event's type."""
        return self.header.type

    @property
    def name(self) -> str:
        """The type's name."""
        return self.header.name

    @property
    def server_id(self) -> int:
        """The server that first logged it."""
        return self.header.server_id

    @property
    def size(self) -> int:
        """Bytes of the whole event."""
        return self.header.size

    @property
    def log_pos(self) -> int:
        """Where the event ends, as the server that wrote it counts."""
        return self.header.log_pos

    @property
    def flags(self) -> EventFlag:
        """The header's flags."""
        return self.header.flags

    @property
    def inside_payload(self) -> bool:
        """Whether it came out of a TRANSACTION_PAYLOAD."""
        return self.header.payload_offset is not None
