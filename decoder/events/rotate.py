"""ROTATE: the log continues in another file.

Format: MySQL `control_events.cpp`, `Rotate_event`.
"""

from __future__ import annotations

from dataclasses import dataclass

from decoder.events.cursor import Cursor
from decoder.events.event import Event
from decoder.events.format_description import FormatDescriptionEvent
from decoder.events.header import EventHeader
from decoder.events.post_header import read_post_header

_FIRST_POSITION = 4


@dataclass(frozen=True, slots=True)
class RotateEvent(Event):
    """The last event of a file closed by FLUSH or by its size; relay logs contain several."""

    next_position: int
    """u64: position of the first event in the next file, always 4; not logged by MySQL 3.23."""
    next_file: str
    """The rest of the event: the next file's name."""

    @classmethod
    def parse(
        cls, body: memoryview, header: EventHeader, description: FormatDescriptionEvent
    ) -> RotateEvent:
        """Read the event from its bytes after the common header, without the checksum."""
        cursor = Cursor(body, header)
        post_header = read_post_header(cursor, header, description, 8, shortest=0)
        next_position = post_header.u64() if post_header.remaining else _FIRST_POSITION
        next_file = cursor.text(cursor.remaining)
        if not next_file:
            raise header.malformed("the name of the next file is missing")
        return cls(header, next_position, next_file)
