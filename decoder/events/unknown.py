"""An event of a type that is not decoded: younger than this decoder, or another server's.

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
    """Its header says what it is called and whether it may be ignored (`EventFlag.IGNORABLE`)."""

    content: bytes
    """Everything between the header and the checksum."""

    def require_ignorable(self) -> None:
        """Raise UnsupportedError unless its header says that it may be ignored."""
        if EventFlag.IGNORABLE not in self.flags:
            raise UnsupportedError(
                "its type is not known, and its header does not say that it may be ignored",
                position=self.position,
                event_type=self.name,
            )

    @classmethod
    def parse(
        cls, body: memoryview, header: EventHeader, description: FormatDescriptionEvent
    ) -> UnknownEvent:
        """Read the event from its bytes after the common header, without the checksum."""
        return cls(header, bytes(body))
