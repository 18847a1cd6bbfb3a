"""SLAVE: a replica's position in its source's log. No server is known to have written it.

Format: MySQL 4.1 `sql/log_event.h`, `Slave_log_event`.
"""

from __future__ import annotations

from dataclasses import dataclass

from decoder.events.cursor import Cursor
from decoder.events.event import Event


@dataclass(frozen=True, slots=True)
class SlaveEvent(Event):
    """A replication source and a position in its log; the event has no post-header."""

    source_position: int
    """u64."""
    source_port: int
    """u16."""
    source_host: str
    """Text and a zero byte."""
    source_log: str
    """The rest of the event."""

    @classmethod
    def parse(cls, body: Cursor) -> SlaveEvent:
        """Read the event."""
        position, port, host = body.u64(), body.u16(), body.null_terminated()
        return cls(body.header, position, port, host, body.text(body.remaining))
