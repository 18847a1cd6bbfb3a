"""STOP: the server was shut down.

Format: MySQL `control_events.cpp`, `Stop_event`.
"""

from __future__ import annotations

from dataclasses import dataclass

from decoder.events.event import Event
from decoder.events.format_description import FormatDescriptionEvent
from decoder.events.header import EventHeader


@dataclass(frozen=True, slots=True)
class StopEvent(Event):
    """The last event of a file whose server was shut down; it has no body."""

    @classmethod
    def parse(
        cls, body: memoryview, header: EventHeader, description: FormatDescriptionEvent
    ) -> StopEvent:
        """Read the event from its bytes after the common header, without the checksum."""
        return cls(header)
