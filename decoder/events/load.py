"""LOAD and NEW_LOAD: the clauses of a LOAD DATA statement, without its file (before MySQL 5.0).

Format: MariaDB `sql/log_event.cc`, `Load_log_event::copy_log_event`; of the options
`sql/log_event.h`, `sql_ex_info`. MySQL 3.23 wrote LOAD, whose separators are single bytes; in
NEW_LOAD and CREATE_FILE (4.0) they are strings.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntFlag
from typing import Any

from decoder.constants import EventType
from decoder.events.cursor import Cursor
from decoder.events.event import Event

_POST_HEADER_LENGTH = 18
_SEPARATORS = 5


class LoadFlag(IntFlag):
    """Bits of the options' flags."""

    DUMPFILE = 0x1
    OPTIONALLY_ENCLOSED = 0x2
    REPLACE = 0x4
    IGNORE = 0x8


@dataclass(frozen=True, slots=True)
class LoadOptions:
    """The FIELDS and LINES options: separators, in the order in which they are logged."""

    fields_terminated_by: bytes
    """u8 length and text; in LOAD one byte."""
    fields_enclosed_by: bytes
    """The same."""
    lines_terminated_by: bytes
    """The same."""
    lines_starting_by: bytes
    """The same."""
    fields_escaped_by: bytes
    """The same."""
    flags: LoadFlag
    """u8; in LOAD another u8 follows, with a bit for each empty separator, lowest bit first."""


@dataclass(frozen=True, slots=True)
class LoadEvent(Event):
    """A LOAD DATA: a post-header of 18 bytes, the options, columns, table and file."""

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
    def parse(cls, body: Cursor) -> LoadEvent:
        """Read the event."""
        values, _ = read_load(body)
        return cls(body.header, **values, file_name=body.text(body.remaining))


def read_load(body: Cursor, own_length: int = 0) -> tuple[dict[str, Any], Cursor]:
    """Read the fields up to the file's name.

    Also return a cursor over the part of the post-header that only this event type has: the
    `own_length` bytes after the part that all the load events share.
    """
    shared = body.post_header_length(EventType.LOAD, _POST_HEADER_LENGTH)
    if shared < _POST_HEADER_LENGTH:
        raise body.malformed(f"a post-header of {shared} bytes is too short")
    post_header = body.part(shared)
    own = body.part(own_length)
    values: dict[str, Any] = {
        "thread_id": post_header.u32(),
        "execution_time": post_header.u32(),
        "skip_lines": post_header.u32(),
    }
    table_length, schema_length, count = post_header.u8(), post_header.u8(), post_header.u32()
    of_version_1 = body.header.type == EventType.LOAD
    values["options"] = _read_options_v1(body) if of_version_1 else _read_options(body)
    lengths = body.take(count)
    values["columns"] = tuple(body.name(length) for length in lengths)
    values["table"] = body.name(table_length)
    values["schema"] = body.name(schema_length)
    return values, own


def _read_options(cursor: Cursor) -> LoadOptions:
    """Read the options of NEW_LOAD and CREATE_FILE."""
    return _options([cursor.take(cursor.u8()) for _ in range(_SEPARATORS)], cursor.u8())


def _read_options_v1(cursor: Cursor) -> LoadOptions:
    """Read the options of LOAD, whose separators are single bytes."""
    characters = [cursor.take(1) for _ in range(_SEPARATORS)]
    flags, empty = cursor.u8(), cursor.u8()
    return _options([b"" if empty >> k & 1 else c for k, c in enumerate(characters)], flags)


def _options(separators: list[bytes], flags: int) -> LoadOptions:
    columns_by, enclosed_by, lines_by, starting_by, escaped_by = separators
    return LoadOptions(columns_by, enclosed_by, lines_by, starting_by, escaped_by, LoadFlag(flags))
