"""CREATE_FILE: a LOAD DATA statement and the first piece of its file (MySQL 4.0 and 4.1).

Format: MariaDB `sql/log_event.cc`, `Create_file_log_event`.
"""

from __future__ import annotations

from dataclasses import dataclass

from decoder.constants import EventType
from decoder.events.cursor import Cursor
from decoder.events.load import LoadEvent, read_load

_OWN_LENGTH = 4


@dataclass(frozen=True, slots=True)
class CreateFileEvent(LoadEvent):
    """A LOAD DATA that is executed only at the EXEC_LOAD with the same file id."""

    file_id: int
    """u32, after the post-header of LOAD: identifies the file among those of the log."""
    block: bytes
    """The rest of the event, after the file's name."""

    @classmethod
    def parse(cls, body: Cursor) -> CreateFileEvent:
        """Read the event."""
        length = body.post_header_length(EventType.CREATE_FILE, _OWN_LENGTH)
        values, own = read_load(body, length)
        file_name = body.null_terminated()
        return cls(body.header, **values, file_name=file_name, file_id=own.u32(), block=body.rest())
