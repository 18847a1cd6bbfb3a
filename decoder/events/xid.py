"""XID: the commit of a transaction in a transactional engine.

Format: MySQL `control_events.cpp`, `Xid_event`.
"""

from __future__ import annotations

from dataclasses import dataclass

from decoder.events.cursor import Cursor
from decoder.events.event import Event
from decoder.events.format_description import FormatDescriptionEvent
from decoder.events.header import EventHeader


@dataclass(frozen=True, slots=True)
class XidEvent(Event):
    """The end of a transaction."""

    xid: int
    """u64: the engine's number of the transaction."""

    @classmethod
    def parse(
        cls, body: memoryview, header: EventHeader, description: FormatDescriptionEvent
    ) -> XidEvent:
        """Read the event from its bytes after the common header, without the checksum."""
        return cls(header, Cursor(body, header).u64())
