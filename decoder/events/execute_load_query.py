"""EXECUTE_LOAD_QUERY: a LOAD DATA statement whose file is in the preceding events.

Format: MySQL `load_data_events.cpp`, `Execute_load_query_event`.
"""

from __future__ import annotations

from dataclasses import dataclass

from decoder.events.cursor import Cursor
from decoder.events.format_description import FormatDescriptionEvent
from decoder.events.header import EventHeader
from decoder.events.post_header import read_post_header
from decoder.events.query import QueryEvent, read_query

_LENGTH_OF_QUERY, _LENGTH = 13, 26


@dataclass(frozen=True, slots=True)
class ExecuteLoadQueryEvent(QueryEvent):
    """A QUERY with a longer post-header."""

    file_id: int
    """u32, after QUERY's post-header: which file."""
    file_name_start: int
    """u32: offset in the statement at which the file's name starts."""
    file_name_end: int
    """u32: offset at which it ends."""
    duplicates: int
    """u8: 0 error, 1 IGNORE, 2 REPLACE."""

    @classmethod
    def parse(
        cls, body: memoryview, header: EventHeader, description: FormatDescriptionEvent
    ) -> ExecuteLoadQueryEvent:
        """Read the event from its bytes after the common header, without the checksum."""
        statement = read_query(Cursor(body, header), header, description)
        post_header = read_post_header(Cursor(body, header), header, description, _LENGTH)
        post_header.skip(_LENGTH_OF_QUERY)
        return cls(
            header,
            **statement,
            file_id=post_header.u32(),
            file_name_start=post_header.u32(),
            file_name_end=post_header.u32(),
            duplicates=post_header.u8(),
        )
