"""IGNORABLE: an event that a reader may skip.

Format: MySQL `control_events.h`, `Ignorable_event`.
"""

from __future__ import annotations

from dataclasses import dataclass

from decoder.events.cursor import Cursor
from decoder.events.event import Event


@dataclass(frozen=True, slots=True)
class IgnorableEvent(Event):
    """An event whose content is ignored."""

    content: bytes
    """The rest of the event."""

    @classmethod
    def parse(cls, body: Cursor) -> IgnorableEvent:
        """Read the event."""
        return cls(body.header, body.rest())
