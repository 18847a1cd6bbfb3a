"""HEARTBEAT_V2: a heartbeat whose position is not limited to 4 GiB.

Format: MySQL `codecs/binary.cpp`, `Heartbeat`.
"""

from __future__ import annotations

from dataclasses import dataclass

from decoder.events.cursor import Cursor
from decoder.events.event import Event

_END = 0
_LOG_FILE = 1
_LOG_POSITION = 2


@dataclass(frozen=True, slots=True)
class HeartbeatV2Event(Event):
    """A heartbeat: fields of length-encoded type, length and value, ended by type 0."""

    log_file: str
    """1: text."""
    log_position: int
    """2: length-encoded."""

    @classmethod
    def parse(cls, body: Cursor) -> HeartbeatV2Event:
        """Read the event."""
        log_file, log_position = "", 0
        while body.remaining and (code := body.length_encoded()) != _END:
            value = body.part(body.length_encoded())
            if code == _LOG_FILE:
                log_file = value.text(value.remaining)
            elif code == _LOG_POSITION:
                log_position = value.length_encoded()
        return cls(body.header, log_file, log_position)
