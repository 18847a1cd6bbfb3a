"""EXECUTE_LOAD_QUERY: a LOAD DATA statement whose file stands in the events before it.

Format: MySQL `load_data_events.cpp`, `Execute_load_query_event`.
"""

from __future__ import annotations

from dataclasses import dataclass, fields

from decoder.events.cursor import Cursor
from decoder.events.format_description import FormatDescriptionEvent
from decoder.events.query import QUERY_POST_HEADER_LENGTH, QueryEvent
from decoder.header import EventHeader


@dataclass(frozen=True, slots=True)
class ExecuteLoadQueryEvent(QueryEvent):
    """A QUERY with a longer post-header."""

    file_id: int
    """u32, behind QUERY's post-header: which file."""
    file_name_start: int
    """u32: where in the statement the file's name begins."""
    file_name_end: int
    """u32: and ends."""
    duplicates: int
    """u8: 0 error, 1 IGNORE, 2 REPLACE."""

    @classmethod
    def parse(
        cls, body: memoryview, header: EventHeader, description: FormatDescriptionEvent
    ) -> ExecuteLoadQueryEvent:
        """Read the event from its bytes after the common header, without the checksum."""
        statement = QueryEvent.parse(body, header, description)
        cursor = Cursor(body, header)
        cursor.skip(QUERY_POST_HEADER_LENGTH)
        return cls(
            **{field.name: getattr(statement, field.name) for field in fields(QueryEvent)},
            file_id=cursor.u32(),
            file_name_start=cursor.u32(),
            file_name_end=cursor.u32(),
            duplicates=cursor.u8(),
        )
