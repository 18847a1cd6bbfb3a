"""QUERY: a statement as text, with the session it ran in.

Format: MySQL `statement_events.cpp`, `Query_event`.
"""

from __future__ import annotations

from dataclasses import dataclass

from decoder.charsets import decode
from decoder.errors import UnsupportedError
from decoder.events.cursor import Cursor
from decoder.events.event import Event
from decoder.events.format_description import FormatDescriptionEvent
from decoder.events.status_variables import StatusVariables, parse_status_variables
from decoder.header import EventHeader

QUERY_POST_HEADER_LENGTH = 13


@dataclass(frozen=True, slots=True)
class QueryEvent(Event):
    """A statement: DDL, BEGIN, COMMIT, or DML that is logged as a statement."""

    thread_id: int
    """u32: the connection."""
    execution_time: int
    """u32: seconds."""
    error_code: int
    """u16, behind a u8 length of the schema."""
    status: StatusVariables
    """u16 length, then, after the post-header, the variables."""
    schema: str
    """The session's default schema, with a zero byte behind it; empty where it had none."""
    query: str
    """To the end, decoded from the client's charset."""

    @classmethod
    def parse(
        cls, body: memoryview, header: EventHeader, description: FormatDescriptionEvent
    ) -> QueryEvent:
        """Read the event from its bytes after the common header, without the checksum."""
        cursor = Cursor(body, header)
        post_header_length = description.post_header_length(header.type, QUERY_POST_HEADER_LENGTH)
        if post_header_length < QUERY_POST_HEADER_LENGTH:
            raise header.malformed(f"a post-header of {post_header_length} bytes is too short")
        post_header = cursor.part(post_header_length)
        thread_id = post_header.u32()
        execution_time = post_header.u32()
        schema_length = post_header.u8()
        error_code = post_header.u16()
        status = parse_status_variables(cursor.part(post_header.u16()))
        schema = cursor.text(schema_length)
        cursor.skip(1)
        query = _decode(cursor.rest(), status.client_collation)
        return cls(header, thread_id, execution_time, error_code, status, schema, query)


def _decode(text: bytes, collation: int | None) -> str:
    try:
        return decode(text, collation)
    except UnsupportedError:  # a collation of another server family: its statements are read alike
        return decode(text, None)
