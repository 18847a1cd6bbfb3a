"""MARIADB_QUERY_COMPRESSED: a QUERY whose text is compressed (`log_bin_compress=ON`).

Format: MariaDB `sql/log_event.cc`, `query_event_uncompress`: the layout of QUERY, with the text
compressed as described in `decoder.events.mariadb_compression`.
"""

from __future__ import annotations

from dataclasses import dataclass

from decoder.events.cursor import Cursor
from decoder.events.mariadb_compression import uncompress
from decoder.events.query import QueryEvent, read_query


@dataclass(frozen=True, slots=True)
class QueryCompressedEvent(QueryEvent):
    """The fields of QUERY, with the text decompressed."""

    @classmethod
    def parse(cls, body: Cursor) -> QueryCompressedEvent:
        """Read the event."""
        return cls(body.header, **read_query(body, uncompress))
