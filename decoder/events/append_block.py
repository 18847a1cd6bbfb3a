"""APPEND_BLOCK: a piece of the file that LOAD DATA reads.

Format: MySQL `load_data_events.cpp`, `Append_block_event`.
"""

from __future__ import annotations

from dataclasses import dataclass

from decoder.events.cursor import Cursor
from decoder.events.event import Event


@dataclass(frozen=True, slots=True)
class AppendBlockEvent(Event):
    """A later piece of the file, after BEGIN_LOAD_QUERY."""

    file_id: int
    """u32: identifies the file among those of the log."""
    block: bytes
    """The rest of the event."""

    @classmethod
    def parse(cls, body: Cursor) -> AppendBlockEvent:
        """Read the event."""
        file_id = body.post_header(4).u32()
        return cls(body.header, file_id, body.rest())
