"""STOP: the server was shut down.

Format: MySQL `control_events.cpp`, `Stop_event`.
"""

from __future__ import annotations

from dataclasses import dataclass

from decoder.events.cursor import Cursor
from decoder.events.event import Event


@dataclass(frozen=True, slots=True)
class StopEvent(Event):
    """The last event of a file whose server was shut down; it has no body."""

    @classmethod
    def parse(cls, body: Cursor) -> StopEvent:
        """Read the event."""
        return cls(body.header)
