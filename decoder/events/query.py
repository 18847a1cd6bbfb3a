"""QUERY: a statement as text, with the session that ran it.

Format: MySQL `statement_events.cpp`, `Query_event`. Before MySQL 5.0 it has neither status
variables nor their length in the post-header.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from decoder.columns.charsets import decode
from decoder.errors import UnsupportedError
from decoder.events.cursor import Cursor
from decoder.events.event import Event
from decoder.events.format_description import FormatDescriptionEvent
from decoder.events.header import EventHeader
from decoder.events.post_header import read_post_header
from decoder.events.status_variables import StatusVariables, parse_status_variables

_POST_HEADER_LENGTH, _POST_HEADER_LENGTH_BEFORE_V4 = 13, 11


@dataclass(frozen=True, slots=True)
class QueryEvent(Event):
    """A statement: DDL, BEGIN, COMMIT, or DML that is logged as a statement."""

    thread_id: int
    """u32: the connection."""
    execution_time: int
    """u32: seconds."""
    error_code: int
    """u16, after a u8 length of the schema."""
    status: StatusVariables
    """u16 length; the variables follow the post-header."""
    schema: str
    """The session's default schema, terminated by a zero byte; empty if it had none."""
    query: str
    """The rest of the event, decoded from the client's charset."""

    @classmethod
    def parse(
        cls, body: memoryview, header: EventHeader, description: FormatDescriptionEvent
    ) -> QueryEvent:
        """Read the event from its bytes after the common header, without the checksum."""
        return cls(header, **read_query(Cursor(body, header), header, description))


def read_query(
    cursor: Cursor,
    header: EventHeader,
    description: FormatDescriptionEvent,
    restore: Callable[[bytes], bytes] = bytes,
) -> dict[str, Any]:
    """Read QUERY's fields; `restore` turns the logged bytes into the statement's text."""
    post_header = read_post_header(
        cursor, header, description, _POST_HEADER_LENGTH, shortest=_POST_HEADER_LENGTH_BEFORE_V4
    )
    values: dict[str, Any] = {
        "thread_id": post_header.u32(),
        "execution_time": post_header.u32(),
    }
    schema_length = post_header.u8()
    values["error_code"] = post_header.u16()
    status_length = post_header.u16() if post_header.remaining else 0
    status = values["status"] = parse_status_variables(cursor.part(status_length))
    values["schema"] = cursor.text(schema_length)
    cursor.skip(1)
    values["query"] = _decode(restore(cursor.rest()), status.client_collation)
    return values


def _decode(text: bytes, collation: int | None) -> str:
    try:
        return decode(text, collation)
    except UnsupportedError:  # an unknown collation: read the text as if it were not logged
        return decode(text, None)
