"""HEARTBEAT: the server had nothing to send. Occurs only on the wire and in relay logs.

Format: MySQL `control_events.cpp`, `Heartbeat_event`.
"""

from __future__ import annotations

from dataclasses import dataclass

from decoder.events.cursor import Cursor
from decoder.events.event import Event


@dataclass(frozen=True, slots=True)
class HeartbeatEvent(Event):
    """The position that the server has sent up to: this file and the header's `log_pos`."""

    log_file: str
    """The rest of the event."""

    @classmethod
    def parse(cls, body: Cursor) -> HeartbeatEvent:
        """Read the event."""
        return cls(body.header, body.text(body.remaining))
