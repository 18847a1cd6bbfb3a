"""An event of an unknown type: newer than this decoder, or written by another server.

Format: MySQL `binlog_event.h`, `Log_event_type`.
"""

from __future__ import annotations

from dataclasses import dataclass

from decoder.constants import EventFlag
from decoder.errors import UnsupportedError
from decoder.events.event import Event
from decoder.events.format_description import FormatDescriptionEvent
from decoder.events.header import EventHeader


@dataclass(frozen=True, slots=True)
class UnknownEvent(Event):
    """An undecoded event; `EventFlag.IGNORABLE` in its header marks one that may be skipped."""

    content: bytes
    """Everything between the header and the checksum."""

    def require_ignorable(self) -> None:
        """Raise UnsupportedError unless its header is flagged as ignorable."""
        if EventFlag.IGNORABLE not in self.flags:
            raise UnsupportedError(
                "the event type is unknown, and the event is not flagged as ignorable",
                position=self.position,
                event_type=self.name,
            )

    @classmethod
    def parse(
        cls, body: memoryview, header: EventHeader, description: FormatDescriptionEvent
    ) -> UnknownEvent:
        """Read the event from its bytes after the common header, without the checksum."""
        return cls(header, bytes(body))
