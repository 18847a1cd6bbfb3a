"""DELETE_FILE: LOAD DATA failed, its pieces are void.

Format: MySQL `load_data_events.cpp`, `Delete_file_event`.
"""

from __future__ import annotations

from dataclasses import dataclass

from decoder.events.cursor import Cursor
from decoder.events.event import Event
from decoder.events.format_description import FormatDescriptionEvent
from decoder.events.header import EventHeader
from decoder.events.post_header import read_post_header


@dataclass(frozen=True, slots=True)
class DeleteFileEvent(Event):
    """Ends what BEGIN_LOAD_QUERY began."""

    file_id: int
    """u32: tells the files of a log apart."""

    @classmethod
    def parse(
        cls, body: memoryview, header: EventHeader, description: FormatDescriptionEvent
    ) -> DeleteFileEvent:
        """Read the event from its bytes after the common header, without the checksum."""
        post_header = read_post_header(Cursor(body, header), header, description, 4)
        return cls(header, post_header.u32())
