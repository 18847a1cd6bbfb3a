"""PREVIOUS_GTIDS: the GTIDs of all transactions in the log before this file.

Format: MySQL `control_events.cpp`, `Previous_gtids_event`.
"""

from __future__ import annotations

from dataclasses import dataclass

from decoder.events.cursor import Cursor
from decoder.events.event import Event
from decoder.events.gtid_set import LoggedGtidSet, parse_gtid_set


@dataclass(frozen=True, slots=True)
class PreviousGtidsEvent(Event):
    """The GTIDs before this file, after FORMAT_DESCRIPTION; none if they were never enabled."""

    gtid_set: LoggedGtidSet
    """An encoded GTID set: the rest of the event."""

    @classmethod
    def parse(cls, body: Cursor) -> PreviousGtidsEvent:
        """Read the event."""
        return cls(body.header, parse_gtid_set(body))
