"""ROWS_QUERY: the statement that caused the rows events after it.

Format: MySQL `rows_event.cpp`, `Rows_query_event`.
"""

from __future__ import annotations

from dataclasses import dataclass

from decoder.events.cursor import Cursor
from decoder.events.event import Event


@dataclass(frozen=True, slots=True)
class RowsQueryEvent(Event):
    """The statement, logged with `binlog_rows_query_log_events=ON`; informational."""

    query: str
    """The rest of the event, after a u8 length that is ignored: it is too short for statements."""

    @classmethod
    def parse(cls, body: Cursor) -> RowsQueryEvent:
        """Read the event."""
        body.skip(1)
        return cls(body.header, body.text(body.remaining))
