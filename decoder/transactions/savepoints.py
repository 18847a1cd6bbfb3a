"""Which rows of a transaction a ROLLBACK TO SAVEPOINT takes back.

A server cuts what is rolled back out of what it will log, and logs ROLLBACK TO only where it cannot
(temporary tables in a MIXED session, engines without transactions): then rows between the SAVEPOINT
and it are in the log and must not be applied. Rows are told apart by the file positions of their
events and, inside of a payload, whose events share its position, by their numbers in it.

A segment that begins in the middle of a transaction has the SAVEPOINTs of before in its preamble,
each with the low 32 bits of its end in the file in place of `log_pos`.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from decoder.errors import UnsupportedError
from decoder.framing.frames import LOG_POS, SIZE
from decoder.transactions.boundaries import Statement
from decoder.transactions.event_window import Window
from decoder.transactions.row_spans import RowSpan

LOG_POS_BITS = 32
_LOG_POS_AT = 13
"""In a header: behind timestamp, type, server id and size."""


@dataclass(frozen=True, slots=True, order=True)
class Place:
    """A place between events: a file position, and in a payload there the next row's number."""

    position: int
    row: int | None = None


@dataclass(slots=True)
class Savepoints:
    """The places of the SAVEPOINTs of one transaction, by name."""

    transaction: int = -1
    places: dict[str, Place] = field(default_factory=dict)

    def of(self, transaction: int) -> Savepoints:
        """Those of this transaction, without any of the one before."""
        if self.transaction != transaction:
            self.transaction, self.places = transaction, {}
        return self

    def set(self, name: str, place: Place) -> None:
        """SAVEPOINT: one of the same name from before is gone."""
        self.places[name] = place

    def undone(self, name: str, place: Place, query: str) -> RowSpan:
        """What ROLLBACK TO at a place takes back. Raises UnsupportedError where that is unknown."""
        start = self.places.get(name)
        if start is None or (start.row is None) != (place.row is None):
            raise UnsupportedError(f"which rows {query!r} takes back cannot be told")
        if start.row is None or place.row is None:
            return RowSpan(start.position, place.position)
        return RowSpan(start.row, place.row, inside=True)


def carried(event: bytes, end: int) -> bytes:
    """A SAVEPOINT's event for a preamble, which tells where it ends in the file."""
    low = (end & ((1 << LOG_POS_BITS) - 1)).to_bytes(4, "little")
    return event[:_LOG_POS_AT] + low + event[_LOG_POS_AT + 4 :]


def reachable(ends: Iterable[int], position: int) -> list[bool]:
    """Which ends can be told, in a preamble of the segment at a position, from their low bits."""
    return [position - end < 1 << LOG_POS_BITS for end in ends]


def place_carried(window: Window, position: int) -> None:
    """Gives the SAVEPOINTs of the preamble of the segment at a position their own positions."""
    events = np.flatnonzero(window.statement == Statement.SAVEPOINT)
    low: npt.NDArray[np.int64] = window.table[LOG_POS, events]
    ends = position - ((position - low) & ((1 << LOG_POS_BITS) - 1))
    window.position[events] = ends - window.table[SIZE, events]
