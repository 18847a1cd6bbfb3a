"""INCIDENT: the server lost changes, which are missing from the log.

Format: MySQL `control_events.cpp`, `Incident_event`.
"""

from __future__ import annotations

from dataclasses import dataclass

from decoder.events.cursor import Cursor
from decoder.events.event import Event
from decoder.events.format_description import FormatDescriptionEvent
from decoder.events.header import EventHeader
from decoder.events.post_header import read_post_header


@dataclass(frozen=True, slots=True)
class IncidentEvent(Event):
    """A gap: the log does not contain all changes from here on."""

    incident: int
    """u16: 1, lost events."""
    message: str
    """u8 length and text."""

    @classmethod
    def parse(
        cls, body: memoryview, header: EventHeader, description: FormatDescriptionEvent
    ) -> IncidentEvent:
        """Read the event from its bytes after the common header, without the checksum."""
        cursor = Cursor(body, header)
        incident = read_post_header(cursor, header, description, 2).u16()
        return cls(header, incident, cursor.text(cursor.u8()))
