"""The rows of a transaction that a ROLLBACK TO SAVEPOINT rolls back.

A server removes rolled-back changes from its binlog cache, and logs ROLLBACK TO only if it cannot
(temporary tables in a MIXED session, engines without transactions): then the rows between the
SAVEPOINT and it are in the log and must not be applied. They are identified by the file positions
of their events or, inside a payload, whose events share its position, by their row numbers.

A segment that starts inside a transaction has the earlier SAVEPOINTs in its preamble, with the low
32 bits of their end in the file as `log_pos`.
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
from decoder.transactions.summaries import RowSpan

LOG_POS_BITS = 32
_LOG_POS_AT = 13
"""Offset in a header: after timestamp, type, server id and size."""


@dataclass(frozen=True, slots=True, order=True)
class Place:
    """A place between events: a file position and, inside a payload, the next row's number."""

    position: int
    row: int | None = None


@dataclass(slots=True)
class Savepoints:
    """The places of the SAVEPOINTs of one transaction, by name."""

    transaction: int = -1
    places: dict[str, Place] = field(default_factory=dict)

    def of(self, transaction: int) -> Savepoints:
        """Return these savepoints, cleared if they are of another transaction."""
        if self.transaction != transaction:
            self.transaction, self.places = transaction, {}
        return self

    def rolled_back(self, name: str, place: Place, query: str) -> RowSpan:
        """Return the rows that a ROLLBACK TO at `place` rolls back.

        Raises UnsupportedError if they cannot be determined.
        """
        start = self.places.get(name)
        if start is None or (start.row is None) != (place.row is None):
            raise UnsupportedError(f"the rows that {query!r} rolls back cannot be determined")
        if start.row is None or place.row is None:
            return RowSpan(start.position, place.position)
        return RowSpan(start.row, place.row, inside=True)


def savepoint_for_preamble(event: bytes, end: int) -> bytes:
    """Return a SAVEPOINT's event for a preamble, with its end in the file as `log_pos`."""
    low = (end & ((1 << LOG_POS_BITS) - 1)).to_bytes(4, "little")
    return event[:_LOG_POS_AT] + low + event[_LOG_POS_AT + 4 :]


def reachable(ends: Iterable[int], position: int) -> list[bool]:
    """Return which ends can be restored from their low bits in a segment at `position`."""
    return [position - end < 1 << LOG_POS_BITS for end in ends]


def restore_positions(window: Window, position: int) -> None:
    """Restore the file positions of the SAVEPOINTs in the preamble of the segment at `position`."""
    events = np.flatnonzero(window.statement == Statement.SAVEPOINT)
    low: npt.NDArray[np.int64] = window.table[LOG_POS, events]
    ends = position - ((position - low) & ((1 << LOG_POS_BITS) - 1))
    window.position[events] = ends - window.table[SIZE, events]
