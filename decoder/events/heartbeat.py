"""HEARTBEAT: the server had nothing to send. Occurs only on the wire and in relay logs.

Format: MySQL `control_events.cpp`, `Heartbeat_event`.
"""

from __future__ import annotations

from dataclasses import dataclass

from decoder.events.cursor import Cursor
from decoder.events.event import Event
from decoder.events.format_description import FormatDescriptionEvent
from decoder.events.header import EventHeader


@dataclass(frozen=True, slots=True)
class HeartbeatEvent(Event):
    """The position that the server has sent up to: this file and the header's `log_pos`."""

    log_file: str
    """The rest of the event."""

    @classmethod
    def parse(
        cls, body: memoryview, header: EventHeader, description: FormatDescriptionEvent
    ) -> HeartbeatEvent:
        """Read the event from its bytes after the common header, without the checksum."""
        cursor = Cursor(body, header)
        return cls(header, cursor.text(cursor.remaining))
