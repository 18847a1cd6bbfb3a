"""EXEC_LOAD: the LOAD DATA of a CREATE_FILE is executed (MySQL 4.0 and 4.1).

Format: MariaDB `sql/log_event.cc`, `Execute_load_log_event`.
"""

from __future__ import annotations

from dataclasses import dataclass

from decoder.events.cursor import Cursor
from decoder.events.event import Event


@dataclass(frozen=True, slots=True)
class ExecLoadEvent(Event):
    """The execution of a load that CREATE_FILE started."""

    file_id: int
    """u32: identifies the file among those of the log."""

    @classmethod
    def parse(cls, body: Cursor) -> ExecLoadEvent:
        """Read the event."""
        return cls(body.header, body.post_header(4).u32())
