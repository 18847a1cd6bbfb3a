"""The check before every commit that this process still holds its lease on the lake."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from pipeline.errors import LakeLostError
from pipeline.lake.locks.lock import local_path

ONE_AT_A_TIME = "Run again when it is done; a scheduler should run one at a time."


@dataclass(eq=False, slots=True)
class Hold:
    """The state of a lease, kept up to date by `pipeline.lake.locks.lease`.

    `confirmed`: when the store last accepted a renewal (`time.monotonic`); `seconds` after it,
    another run may be about to take the lease over.
    """

    lake: str
    seconds: float
    confirmed: float = 0.0
    lost: bool = False

    def require(self) -> None:
        """Raise LakeLostError unless the lease is certainly still held."""
        if self.lost:
            raise LakeLostError(
                f"another run took {self.lake} over while this one was suspended.",
                remedy=ONE_AT_A_TIME,
            )
        age = time.monotonic() - self.confirmed
        if age > self.seconds:
            raise LakeLostError(
                f"for {age:.0f} seconds the store has not confirmed this run's lease of"
                f" {self.lake}.",
                remedy="Run again when the store can be reached.",
            )


_HOLDS: list[Hold] = []


@contextmanager
def checked_before_commits(hold: Hold) -> Iterator[None]:
    """Check the lease before every commit of this process until the end of the block."""
    _HOLDS.append(hold)
    try:
        yield
    finally:
        _HOLDS.remove(hold)


def require_held(table: str) -> None:
    """Raise LakeLostError if this process held the lease of the table's lake, and may have lost it.

    The lake of a name in a catalog is unknown: then all leases are checked.
    """
    if local_path(table) is not None:
        return
    for hold in list(_HOLDS):
        if "://" not in table or table.startswith(hold.lake.rstrip("/") + "/"):
            hold.require()
