"""ROWS_QUERY: the statement that caused the rows events after it.

Format: MySQL `rows_event.cpp`, `Rows_query_event`.
"""

from __future__ import annotations

from dataclasses import dataclass

from decoder.events.cursor import Cursor
from decoder.events.event import Event
from decoder.events.format_description import FormatDescriptionEvent
from decoder.events.header import EventHeader


@dataclass(frozen=True, slots=True)
class RowsQueryEvent(Event):
    """Logged with `binlog_rows_query_log_events=ON`; informational."""

    query: str
    """The rest of the event, after a u8 length that is ignored: it is too short for statements."""

    @classmethod
    def parse(
        cls, body: memoryview, header: EventHeader, description: FormatDescriptionEvent
    ) -> RowsQueryEvent:
        """Read the event from its bytes after the common header, without the checksum."""
        cursor = Cursor(body, header)
        cursor.skip(1)
        return cls(header, cursor.text(cursor.remaining))
