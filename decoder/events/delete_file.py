"""DELETE_FILE: LOAD DATA failed; the pieces of its file are to be discarded.

Format: MySQL `load_data_events.cpp`, `Delete_file_event`.
"""

from __future__ import annotations

from dataclasses import dataclass

from decoder.events.cursor import Cursor
from decoder.events.event import Event


@dataclass(frozen=True, slots=True)
class DeleteFileEvent(Event):
    """The end of a load that BEGIN_LOAD_QUERY started."""

    file_id: int
    """u32: identifies the file among those of the log."""

    @classmethod
    def parse(cls, body: Cursor) -> DeleteFileEvent:
        """Read the event."""
        return cls(body.header, body.post_header(4).u32())
