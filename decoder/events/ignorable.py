"""IGNORABLE: an event that a reader may skip.

Format: MySQL `control_events.h`, `Ignorable_event`.
"""

from __future__ import annotations

from dataclasses import dataclass

from decoder.events.event import Event
from decoder.events.format_description import FormatDescriptionEvent
from decoder.events.header import EventHeader


@dataclass(frozen=True, slots=True)
class IgnorableEvent(Event):
    """An event whose content is ignored."""

    content: bytes
    """The rest of the event."""

    @classmethod
    def parse(
        cls, body: memoryview, header: EventHeader, description: FormatDescriptionEvent
    ) -> IgnorableEvent:
        """Read the event from its bytes after the common header, without the checksum."""
        return cls(header, bytes(body))
