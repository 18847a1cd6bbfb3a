"""EXEC_LOAD: the LOAD DATA of a CREATE_FILE is executed (MySQL 4.0 and 4.1).

Format: MariaDB `sql/log_event.cc`, `Execute_load_log_event`.
"""

from __future__ import annotations

from dataclasses import dataclass

from decoder.events.cursor import Cursor
from decoder.events.event import Event
from decoder.events.format_description import FormatDescriptionEvent
from decoder.events.header import EventHeader
from decoder.events.post_header import read_post_header


@dataclass(frozen=True, slots=True)
class ExecLoadEvent(Event):
    """The execution of a load that CREATE_FILE started."""

    file_id: int
    """u32: identifies the file among those of the log."""

    @classmethod
    def parse(
        cls, body: memoryview, header: EventHeader, description: FormatDescriptionEvent
    ) -> ExecLoadEvent:
        """Read the event from its bytes after the common header, without the checksum."""
        post_header = read_post_header(Cursor(body, header), header, description, 4)
        return cls(header, post_header.u32())
