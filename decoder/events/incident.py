"""INCIDENT: the server lost changes, which are missing from the log.

Format: MySQL `control_events.cpp`, `Incident_event`.
"""

from __future__ import annotations

from dataclasses import dataclass

from decoder.events.cursor import Cursor
from decoder.events.event import Event


@dataclass(frozen=True, slots=True)
class IncidentEvent(Event):
    """A gap: the log does not contain all changes from here on."""

    incident: int
    """u16: 1, lost events."""
    message: str
    """u8 length and text."""

    @classmethod
    def parse(cls, body: Cursor) -> IncidentEvent:
        """Read the event."""
        incident = body.post_header(2).u16()
        return cls(body.header, incident, body.text(body.u8()))
