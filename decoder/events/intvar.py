"""INTVAR: an integer that the next statement uses.

Format: MySQL `statement_events.cpp`, `Intvar_event`.
"""

from __future__ import annotations

from dataclasses import dataclass

from decoder.events.cursor import Cursor
from decoder.events.event import Event
from decoder.events.format_description import FormatDescriptionEvent
from decoder.events.header import EventHeader


@dataclass(frozen=True, slots=True)
class IntvarEvent(Event):
    """Precedes a statement that is logged as text."""

    variable: int
    """u8: 1 LAST_INSERT_ID, 2 the next AUTO_INCREMENT value."""
    value: int
    """u64."""

    @classmethod
    def parse(
        cls, body: memoryview, header: EventHeader, description: FormatDescriptionEvent
    ) -> IntvarEvent:
        """Read the event from its bytes after the common header, without the checksum."""
        cursor = Cursor(body, header)
        return cls(header, cursor.u8(), cursor.u64())
