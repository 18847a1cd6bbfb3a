"""MARIADB_BINLOG_CHECKPOINT: the oldest file that crash recovery needs.

Format: MariaDB `sql/log_event.cc`, `Binlog_checkpoint_log_event`.
"""

from __future__ import annotations

from dataclasses import dataclass

from decoder.events.cursor import Cursor
from decoder.events.event import Event
from decoder.events.format_description import FormatDescriptionEvent
from decoder.events.header import EventHeader
from decoder.events.post_header import read_post_header


@dataclass(frozen=True, slots=True)
class MariadbBinlogCheckpointEvent(Event):
    """Occurs between transactions."""

    log_file: str
    """u32 length and text."""

    @classmethod
    def parse(
        cls, body: memoryview, header: EventHeader, description: FormatDescriptionEvent
    ) -> MariadbBinlogCheckpointEvent:
        """Read the event from its bytes after the common header, without the checksum."""
        cursor = Cursor(body, header)
        length = read_post_header(cursor, header, description, 4).u32()
        return cls(header, cursor.text(length))
