"""The base class of all events."""

from __future__ import annotations

from dataclasses import dataclass

from decoder.constants import EventFlag, EventType
from decoder.events.header import EventHeader


@dataclass(frozen=True, slots=True)
class Event:
    """An event with its common header; each event type adds its own fields.

    The header's fields are also attributes of the event: `event.position`, `event.timestamp`, ….
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
        """Id of the server that first logged the event."""
        return self.header.server_id

    @property
    def size(self) -> int:
        """Bytes of the whole event, with header and checksum."""
        return self.header.size

    @property
    def log_pos(self) -> int:
        """End of the event in the log that it was first written to; see `EventHeader.log_pos`."""
        return self.header.log_pos

    @property
    def flags(self) -> EventFlag:
        """The header's flags."""
        return self.header.flags

    @property
    def inside_payload(self) -> bool:
        """True if the event was inside a TRANSACTION_PAYLOAD."""
        return self.header.payload_offset is not None
