"""MARIADB_BINLOG_CHECKPOINT: the oldest file that crash recovery needs.

Format: MariaDB `sql/log_event.cc`, `Binlog_checkpoint_log_event`.
"""

from __future__ import annotations

from dataclasses import dataclass

from decoder.events.cursor import Cursor
from decoder.events.event import Event


@dataclass(frozen=True, slots=True)
class MariadbBinlogCheckpointEvent(Event):
    """The name of the oldest file that crash recovery needs; it occurs between transactions."""

    log_file: str
    """u32 length and text."""

    @classmethod
    def parse(cls, body: Cursor) -> MariadbBinlogCheckpointEvent:
        """Read the event."""
        length = body.post_header(4).u32()
        return cls(body.header, body.text(length))
