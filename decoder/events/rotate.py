"""ROTATE: the log continues in another file.

Format: MySQL `control_events.cpp`, `Rotate_event`.
"""

from __future__ import annotations

from dataclasses import dataclass

from decoder.events.cursor import Cursor
from decoder.events.event import Event

_FIRST_POSITION = 4


@dataclass(frozen=True, slots=True)
class RotateEvent(Event):
    """The last event of a file closed by FLUSH or by its size; relay logs contain several."""

    next_position: int
    """u64: position of the first event in the next file, always 4; not logged by MySQL 3.23."""
    next_file: str
    """The rest of the event: the next file's name."""

    @classmethod
    def parse(cls, body: Cursor) -> RotateEvent:
        """Read the event."""
        post_header = body.post_header(8, shortest=0)
        next_position = post_header.u64() if post_header.remaining else _FIRST_POSITION
        next_file = body.text(body.remaining)
        if not next_file:
            raise body.malformed("the name of the next file is missing")
        return cls(body.header, next_position, next_file)
