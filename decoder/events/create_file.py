"""CREATE_FILE: a LOAD DATA statement and the first piece of its file (MySQL 4.0 and 4.1).

Format: MariaDB `sql/log_event.cc`, `Create_file_log_event`.
"""

from __future__ import annotations

from dataclasses import dataclass

from decoder.constants import EventType
from decoder.events.cursor import Cursor
from decoder.events.format_description import FormatDescriptionEvent
from decoder.events.header import EventHeader
from decoder.events.load import LoadEvent, read_load

_OWN_LENGTH = 4


@dataclass(frozen=True, slots=True)
class CreateFileEvent(LoadEvent):
    """Executed only at the EXEC_LOAD with the same file id."""

    file_id: int
    """u32, after the post-header of LOAD: identifies the file among those of the log."""
    block: bytes
    """The rest of the event, after the file's name."""

    @classmethod
    def parse(
        cls, body: memoryview, header: EventHeader, description: FormatDescriptionEvent
    ) -> CreateFileEvent:
        """Read the event from its bytes after the common header, without the checksum."""
        cursor = Cursor(body, header)
        length = description.post_header_length(EventType.CREATE_FILE, _OWN_LENGTH)
        values, own = read_load(cursor, header, description, length)
        file_name = cursor.null_terminated()
        return cls(header, **values, file_name=file_name, file_id=own.u32(), block=cursor.rest())
