"""EXECUTE_LOAD_QUERY: a LOAD DATA statement whose file is in the preceding events.

Format: MySQL `load_data_events.cpp`, `Execute_load_query_event`.
"""

from __future__ import annotations

from dataclasses import dataclass

from decoder.events.cursor import Cursor
from decoder.events.query import QueryEvent, read_query

_POST_HEADER_LENGTH = 26


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
    def parse(cls, body: Cursor) -> ExecuteLoadQueryEvent:
        """Read the event."""
        post_header = body.post_header(_POST_HEADER_LENGTH)
        return cls(
            body.header,
            **read_query(body, post_header=post_header),
            file_id=post_header.u32(),
            file_name_start=post_header.u32(),
            file_name_end=post_header.u32(),
            duplicates=post_header.u8(),
        )
