"""XA_PREPARE: the prepare phase of an XA transaction; XA COMMIT or XA ROLLBACK follows later.

Format: MySQL `control_events.cpp`, `XA_prepare_event`.
"""

from __future__ import annotations

from dataclasses import dataclass

from decoder.events.cursor import Cursor
from decoder.events.event import Event
from decoder.events.format_description import FormatDescriptionEvent
from decoder.events.header import EventHeader

_MAX_LENGTH = 64


@dataclass(frozen=True, slots=True)
class XaPrepareEvent(Event):
    """The end of the prepared part."""

    one_phase: bool
    """u8: XA COMMIT … ONE PHASE, which commits immediately."""
    format_id: int
    """u32."""
    global_id: bytes
    """u32 length; the bytes follow both lengths."""
    branch: bytes
    """u32 length; the bytes follow the global id."""

    @classmethod
    def parse(
        cls, body: memoryview, header: EventHeader, description: FormatDescriptionEvent
    ) -> XaPrepareEvent:
        """Read the event from its bytes after the common header, without the checksum."""
        cursor = Cursor(body, header)
        one_phase = cursor.u8() != 0
        format_id = cursor.u32()
        global_length, branch_length = cursor.u32(), cursor.u32()
        if max(global_length, branch_length) > _MAX_LENGTH:
            raise header.malformed("an XA transaction id is longer than 64 bytes")
        global_id = cursor.take(global_length)
        return cls(header, one_phase, format_id, global_id, cursor.take(branch_length))
