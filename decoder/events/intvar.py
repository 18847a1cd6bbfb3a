"""INTVAR: an integer that the next statement uses.

Format: MySQL `statement_events.cpp`, `Intvar_event`.
"""

from __future__ import annotations

from dataclasses import dataclass

from decoder.events.cursor import Cursor
from decoder.events.event import Event


@dataclass(frozen=True, slots=True)
class IntvarEvent(Event):
    """An INTVAR event: an integer that the next statement, which is logged as text, uses."""

    variable: int
    """u8: 1 LAST_INSERT_ID, 2 the next AUTO_INCREMENT value."""
    value: int
    """u64."""

    @classmethod
    def parse(cls, body: Cursor) -> IntvarEvent:
        """Read the event."""
        return cls(body.header, body.u8(), body.u64())
