"""SLAVE: a replica's position in its source's log. No server is known to have written it.

Format: MySQL 4.1 `sql/log_event.h`, `Slave_log_event`.
"""

from __future__ import annotations

from dataclasses import dataclass

from decoder.events.cursor import Cursor
from decoder.events.event import Event
from decoder.events.format_description import FormatDescriptionEvent
from decoder.events.header import EventHeader


@dataclass(frozen=True, slots=True)
class SlaveEvent(Event):
    """A replication source and a position in its log; the event has no post-header."""

    source_position: int
    """u64."""
    source_port: int
    """u16."""
    source_host: str
    """Text and a zero byte."""
    source_log: str
    """The rest of the event."""

    @classmethod
    def parse(
        cls, body: memoryview, header: EventHeader, description: FormatDescriptionEvent
    ) -> SlaveEvent:
        """Read the event from its bytes after the common header, without the checksum."""
        cursor = Cursor(body, header)
        position, port, host = cursor.u64(), cursor.u16(), cursor.null_terminated()
        return cls(header, position, port, host, cursor.text(cursor.remaining))
