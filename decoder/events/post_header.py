"""The post-header: the fixed part of an event's body, whose length is in FORMAT_DESCRIPTION.

A newer server may append fields to it; those that this decoder knows come first.
"""

from __future__ import annotations

from decoder.events.cursor import Cursor
from decoder.events.format_description import FormatDescriptionEvent
from decoder.events.header import EventHeader


def read_post_header(
    cursor: Cursor,
    header: EventHeader,
    description: FormatDescriptionEvent,
    length: int,
    *,
    shortest: int | None = None,
) -> Cursor:
    """Return a cursor over the post-header only.

    `length` is the length that this decoder reads, also used if FORMAT_DESCRIPTION has none for the
    event's type. Raises MalformedError if the announced length is less than `shortest` (default:
    `length`).
    """
    announced = description.post_header_length(header.type, length)
    if announced < (length if shortest is None else shortest):
        raise header.malformed(f"a post-header of {announced} bytes is too short")
    return cursor.part(announced)
