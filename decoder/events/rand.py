"""RAND: the seeds of RAND() in the next statement.

Format: MySQL `statement_events.cpp`, `Rand_event`.
"""

from __future__ import annotations

from dataclasses import dataclass

from decoder.events.cursor import Cursor
from decoder.events.event import Event


@dataclass(frozen=True, slots=True)
class RandEvent(Event):
    """A RAND event: the seeds of RAND() in the next statement, which is logged as text."""

    seed1: int
    """u64."""
    seed2: int
    """u64."""

    @classmethod
    def parse(cls, body: Cursor) -> RandEvent:
        """Read the event."""
        return cls(body.header, body.u64(), body.u64())
