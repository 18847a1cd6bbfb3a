"""VIEW_CHANGE: the members of a replication group changed.

Format: MySQL `control_events.cpp`, `View_change_event`.
"""

from __future__ import annotations

from dataclasses import dataclass

from decoder.events.cursor import Cursor
from decoder.events.event import Event
from decoder.events.format_description import FormatDescriptionEvent
from decoder.events.header import EventHeader

_VIEW_ID_LENGTH = 40
_LENGTHS = 6
"""Bytes that an item has at least: its two lengths."""


@dataclass(frozen=True, slots=True)
class ViewChangeEvent(Event):
    """A boundary between transactions, with what was certified until then."""

    view_id: str
    """40 bytes, padded with zeros."""
    sequence_number: int
    """u64."""
    certification: tuple[tuple[bytes, bytes], ...]
    """u32 count; a u16 length and key, a u32 length and value each."""

    @classmethod
    def parse(
        cls, body: memoryview, header: EventHeader, description: FormatDescriptionEvent
    ) -> ViewChangeEvent:
        """Read the event from its bytes after the common header, without the checksum."""
        cursor = Cursor(body, header)
        view_id = cursor.take(_VIEW_ID_LENGTH).partition(b"\0")[0].decode("utf-8", "replace")
        sequence_number = cursor.u64()
        count = cursor.u32()
        if _LENGTHS * count > cursor.remaining:
            raise header.malformed(f"{count} items are announced in {cursor.remaining} bytes")
        certification = tuple(
            (cursor.take(cursor.u16()), cursor.take(cursor.u32())) for _ in range(count)
        )
        return cls(header, view_id, sequence_number, certification)
