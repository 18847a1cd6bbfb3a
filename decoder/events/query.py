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
    def parse(cls, body: Cursor) -> QueryEvent:
        """Read the event."""
        return cls(body.header, **read_query(body))


def read_query(
    body: Cursor,
    restore: Callable[[bytes], bytes] = bytes,
    *,
    post_header: Cursor | None = None,
) -> dict[str, Any]:
    """Read QUERY's fields; `restore` turns the logged bytes into the statement's text.

    `post_header`, if it is read already, starts with QUERY's.
    """
    if post_header is None:
        post_header = body.post_header(_POST_HEADER_LENGTH, shortest=_POST_HEADER_LENGTH_BEFORE_V4)
    values: dict[str, Any] = {
        "thread_id": post_header.u32(),
        "execution_time": post_header.u32(),
    }
    schema_length = post_header.u8()
    values["error_code"] = post_header.u16()
    status_length = post_header.u16() if post_header.remaining else 0
    status = values["status"] = parse_status_variables(body.part(status_length))
    values["schema"] = body.text(schema_length)
    body.skip(1)
    values["query"] = _decode(restore(body.rest()), status.client_collation)
    return values


def _decode(text: bytes, collation: int | None) -> str:
    try:
        return decode(text, collation)
    except UnsupportedError:  # an unknown collation: read the text as if it were not logged
        return decode(text, None)
