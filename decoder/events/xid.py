"""XID: the commit of a transaction in a transactional engine.

Format: MySQL `control_events.cpp`, `Xid_event`.
"""

from __future__ import annotations

from dataclasses import dataclass

from decoder.events.cursor import Cursor
from decoder.events.event import Event


@dataclass(frozen=True, slots=True)
class XidEvent(Event):
    """The end of a transaction."""

    xid: int
    """u64: the engine's number of the transaction."""

    @classmethod
    def parse(cls, body: Cursor) -> XidEvent:
        """Read the event."""
        return cls(body.header, body.u64())
