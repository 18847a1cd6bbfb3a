"""XA_PREPARE: the prepare phase of an XA transaction; XA COMMIT or XA ROLLBACK follows later.

Format: MySQL `control_events.cpp`, `XA_prepare_event`.
"""

from __future__ import annotations

from dataclasses import dataclass

from decoder.events.cursor import Cursor
from decoder.events.event import Event

_MAX_LENGTH = 64


@dataclass(frozen=True, slots=True)
class XaPrepareEvent(Event):
    """The end of the prepared part of an XA transaction."""

    one_phase: bool
    """u8: XA COMMIT … ONE PHASE, which commits immediately."""
    format_id: int
    """u32."""
    global_id: bytes
    """u32 length; the bytes follow both lengths."""
    branch: bytes
    """u32 length; the bytes follow the global id."""

    @classmethod
    def parse(cls, body: Cursor) -> XaPrepareEvent:
        """Read the event."""
        one_phase = body.u8() != 0
        format_id = body.u32()
        global_length, branch_length = body.u32(), body.u32()
        if max(global_length, branch_length) > _MAX_LENGTH:
            raise body.malformed("an XA transaction id is longer than 64 bytes")
        global_id = body.take(global_length)
        return cls(body.header, one_phase, format_id, global_id, body.take(branch_length))
