"""An event of an unknown type: newer than this decoder, or written by another server.

Format: MySQL `binlog_event.h`, `Log_event_type`.
"""

from __future__ import annotations

from dataclasses import dataclass

from decoder.constants import EventFlag
from decoder.events.cursor import Cursor
from decoder.events.event import Event


@dataclass(frozen=True, slots=True)
class UnknownEvent(Event):
    """An undecoded event; `EventFlag.IGNORABLE` in its header marks one that may be skipped."""

    content: bytes
    """Everything between the header and the checksum."""

    def require_ignorable(self) -> None:
        """Raise UnsupportedError unless its header is flagged as ignorable."""
        if EventFlag.IGNORABLE not in self.flags:
            raise self.header.unsupported(
                "the event type is unknown, and the event is not flagged as ignorable"
            )

    @classmethod
    def parse(cls, body: Cursor) -> UnknownEvent:
        """Read the event."""
        return cls(body.header, body.rest())
