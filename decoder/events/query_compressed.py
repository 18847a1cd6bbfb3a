"""MARIADB_QUERY_COMPRESSED: a QUERY whose text is compressed (`log_bin_compress=ON`).

Format: MariaDB `sql/log_event.cc`, `query_event_uncompress`: the layout of QUERY, with the text
compressed as described in `decoder.events.mariadb_compression`.
"""

from __future__ import annotations

from dataclasses import dataclass

from decoder.events.cursor import Cursor
from decoder.events.format_description import FormatDescriptionEvent
from decoder.events.header import EventHeader
from decoder.events.mariadb_compression import uncompress
from decoder.events.query import QueryEvent, read_query


@dataclass(frozen=True, slots=True)
class QueryCompressedEvent(QueryEvent):
    """The fields of QUERY, with the text decompressed."""

    @classmethod
    def parse(
        cls, body: memoryview, header: EventHeader, description: FormatDescriptionEvent
    ) -> QueryCompressedEvent:
        """Read the event from its bytes after the common header, without the checksum."""
        return cls(header, **read_query(Cursor(body, header), header, description, uncompress))
