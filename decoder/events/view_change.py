"""VIEW_CHANGE: the members of a replication group changed.

Format: MySQL `control_events.cpp`, `View_change_event`.
"""

from __future__ import annotations

from dataclasses import dataclass

from decoder.events.cursor import Cursor
from decoder.events.event import Event

_VIEW_ID_LENGTH = 40
_LENGTHS = 6
"""Minimum bytes of an item: its two lengths."""


@dataclass(frozen=True, slots=True)
class ViewChangeEvent(Event):
    """A boundary between transactions, with the certification data up to it."""

    view_id: str
    """40 bytes, padded with zeros."""
    sequence_number: int
    """u64."""
    certification: tuple[tuple[bytes, bytes], ...]
    """u32 count; for each a u16 length and key, and a u32 length and value."""

    @classmethod
    def parse(cls, body: Cursor) -> ViewChangeEvent:
        """Read the event."""
        view_id = body.take(_VIEW_ID_LENGTH).partition(b"\0")[0].decode("utf-8", "replace")
        sequence_number = body.u64()
        count = body.u32()
        if _LENGTHS * count > body.remaining:
            raise body.malformed(f"{count} items do not fit in the {body.remaining} bytes left")
        certification = tuple((body.take(body.u16()), body.take(body.u32())) for _ in range(count))
        return cls(body.header, view_id, sequence_number, certification)
