"""The fixed part of an event's body: as long as the FORMAT_DESCRIPTION in force says.

A younger server may have made it longer; what this decoder knows of it comes first.
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
    """A cursor over the fixed part alone.

    `length` is today's; MalformedError where it is less than `shortest` (or than `length`).
    """
    announced = description.post_header_length(header.type, length)
    if announced < (length if shortest is None else shortest):
        raise header.malformed(f"a post-header of {announced} bytes is too short")
    return cursor.part(announced)
