"""LOAD and NEW_LOAD: the clauses of a LOAD DATA statement, without its file (before MySQL 5.0).

Format: MariaDB `sql/log_event.cc`, `Load_log_event::copy_log_event`. MySQL 3.23 wrote LOAD, whose
separators are single bytes; in NEW_LOAD and CREATE_FILE (4.0) they are strings.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from decoder.constants import EventType
from decoder.events.cursor import Cursor
from decoder.events.event import Event
from decoder.events.format_description import FormatDescriptionEvent
from decoder.events.header import EventHeader
from decoder.events.load_options import LoadOptions, read_options, read_options_v1

_POST_HEADER_LENGTH = 18


@dataclass(frozen=True, slots=True)
class LoadEvent(Event):
    """A post-header of 18 bytes, the options, the columns, the table and the file."""

    thread_id: int
    """u32: the connection."""
    execution_time: int
    """u32: seconds."""
    skip_lines: int
    """u32: IGNORE … LINES."""
    options: LoadOptions
    """After the post-header, whose last fields are a u8 length of the table's name, a u8 length of
    the schema's name, and a u32 number of columns."""
    columns: tuple[str, ...]
    """A u8 length for each; then each name and a zero byte."""
    table: str
    """Text and a zero byte."""
    schema: str
    """Text and a zero byte."""
    file_name: str
    """The rest of the event; in CREATE_FILE text and a zero byte."""

    @classmethod
    def parse(
        cls, body: memoryview, header: EventHeader, description: FormatDescriptionEvent
    ) -> LoadEvent:
        """Read the event from its bytes after the common header, without the checksum."""
        cursor = Cursor(body, header)
        values, _ = read_load(cursor, header, description)
        return cls(header, **values, file_name=cursor.text(cursor.remaining))


def read_load(
    cursor: Cursor, header: EventHeader, description: FormatDescriptionEvent, own_length: int = 0
) -> tuple[dict[str, Any], Cursor]:
    """Read the fields up to the file's name.

    Also return a cursor over the part of the post-header that only this event type has: the
    `own_length` bytes after the part that all the load events share.
    """
    shared = description.post_header_length(EventType.LOAD, _POST_HEADER_LENGTH)
    if shared < _POST_HEADER_LENGTH:
        raise header.malformed(f"a post-header of {shared} bytes is too short")
    post_header = cursor.part(shared)
    own = cursor.part(own_length)
    values: dict[str, Any] = {
        "thread_id": post_header.u32(),
        "execution_time": post_header.u32(),
        "skip_lines": post_header.u32(),
    }
    table_length, schema_length, count = post_header.u8(), post_header.u8(), post_header.u32()
    values["options"] = _OPTIONS.get(header.type, read_options)(cursor)
    lengths = cursor.take(count)
    values["columns"] = tuple(_name(cursor, length) for length in lengths)
    values["table"] = _name(cursor, table_length)
    values["schema"] = _name(cursor, schema_length)
    return values, own


def _name(cursor: Cursor, length: int) -> str:
    name = cursor.text(length)
    if cursor.u8():
        raise cursor.malformed("a name is not terminated by a zero byte")
    return name


_OPTIONS: dict[int, Callable[[Cursor], LoadOptions]] = {EventType.LOAD: read_options_v1}
