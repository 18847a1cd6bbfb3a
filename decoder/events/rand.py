"""RAND: the seeds of RAND() in the next statement.

Format: MySQL `statement_events.cpp`, `Rand_event`.
"""

from __future__ import annotations

from dataclasses import dataclass

from decoder.events.cursor import Cursor
from decoder.events.event import Event
from decoder.events.format_description import FormatDescriptionEvent
from decoder.events.header import EventHeader


@dataclass(frozen=True, slots=True)
class RandEvent(Event):
    """Precedes a statement that is logged as text."""

    seed1: int
    """u64."""
    seed2: int
    """u64."""

    @classmethod
    def parse(
        cls, body: memoryview, header: EventHeader, description: FormatDescriptionEvent
    ) -> RandEvent:
        """Read the event from its bytes after the common header, without the checksum."""
        cursor = Cursor(body, header)
        return cls(header, cursor.u64(), cursor.u64())
