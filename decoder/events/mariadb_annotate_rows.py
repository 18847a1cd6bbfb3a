"""MARIADB_ANNOTATE_ROWS: the statement that caused the rows events after it.

Format: MariaDB `sql/log_event.cc`, `Annotate_rows_log_event`.
"""

from __future__ import annotations

from dataclasses import dataclass

from decoder.events.cursor import Cursor
from decoder.events.event import Event


@dataclass(frozen=True, slots=True)
class MariadbAnnotateRowsEvent(Event):
    """The statement, logged with `binlog_annotate_row_events=ON`; informational."""

    query: str
    """The rest of the event, without a length prefix."""

    @classmethod
    def parse(cls, body: Cursor) -> MariadbAnnotateRowsEvent:
        """Read the event."""
        return cls(body.header, body.text(body.remaining))
