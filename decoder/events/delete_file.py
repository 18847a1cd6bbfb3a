"""DELETE_FILE: LOAD DATA failed; the pieces of its file are to be discarded.

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
    """The end of a load that BEGIN_LOAD_QUERY started."""

    file_id: int
    """u32: identifies the file among those of the log."""

    @classmethod
    def parse(
        cls, body: memoryview, header: EventHeader, description: FormatDescriptionEvent
    ) -> DeleteFileEvent:
        """Read the event from its bytes after the common header, without the checksum."""
        post_header = read_post_header(Cursor(body, header), header, description, 4)
        return cls(header, post_header.u32())
