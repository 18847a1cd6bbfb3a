"""BEGIN_LOAD_QUERY: the first piece of the file that LOAD DATA reads.

Format: MySQL `load_data_events.cpp`, `Begin_load_query_event`.
"""

from __future__ import annotations

from dataclasses import dataclass

from decoder.events.cursor import Cursor
from decoder.events.event import Event
from decoder.events.format_description import FormatDescriptionEvent
from decoder.events.header import EventHeader
from decoder.events.post_header import read_post_header


@dataclass(frozen=True, slots=True)
class BeginLoadQueryEvent(Event):
    """The same layout as APPEND_BLOCK."""

    file_id: int
    """u32: identifies the file among those of the log."""
    block: bytes
    """The rest of the event."""

    @classmethod
    def parse(
        cls, body: memoryview, header: EventHeader, description: FormatDescriptionEvent
    ) -> BeginLoadQueryEvent:
        """Read the event from its bytes after the common header, without the checksum."""
        cursor = Cursor(body, header)
        file_id = read_post_header(cursor, header, description, 4).u32()
        return cls(header, file_id, cursor.rest())
