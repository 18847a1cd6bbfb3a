"""What this process holds alone, asked before every commit: a run that has lost its lake stops."""

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
    """A lake that is held, as `pipeline.lake.locks.lease` keeps it up to date.

    `confirmed`: when the store last took a sign of life, by this process's clock; after `seconds`
    without one another run may be about to take the lake over.
    """

    lake: str
    seconds: float
    confirmed: float = 0.0
    lost: bool = False

    def require(self) -> None:
        """Raise LakeLostError unless the lake is surely held still."""
        if self.lost:
            raise LakeLostError(
                f"another run took {self.lake} over while this one stood still.",
                remedy=ONE_AT_A_TIME,
            )
        silent = time.monotonic() - self.confirmed
        if silent > self.seconds:
            raise LakeLostError(
                f"for {silent:.0f} seconds the store has not confirmed that this run alone writes"
                f" {self.lake}.",
                remedy="Run again when the store can be reached.",
            )


_HOLDS: list[Hold] = []


@contextmanager
def asked_before_commits(hold: Hold) -> Iterator[None]:
    """Whoever commits in this process asks the hold, until the end of the `with`."""
    _HOLDS.append(hold)
    try:
        yield
    finally:
        _HOLDS.remove(hold)


def require_held(table: str) -> None:
    """Raise LakeLostError where this process held the table's lake, and may not any more.

    A name in a catalog does not tell its lake: then all that are held must be.
    """
    if local_path(table) is not None:
        return
    for hold in list(_HOLDS):
        if "://" not in table or table.startswith(hold.lake.rstrip("/") + "/"):
            hold.require()
