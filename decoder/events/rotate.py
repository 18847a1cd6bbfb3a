"""ROTATE: the log goes on in another file.

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
    """The last event of a file that was closed by FLUSH or its size; relay logs have several."""

    next_position: int
    """u64: where the next file's first event stands, always 4; not logged by MySQL 3.23."""
    next_file: str
    """To the end: the next file's name."""

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
            raise header.malformed("it names no file")
        return cls(header, next_position, next_file)
