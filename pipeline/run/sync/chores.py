"""Chores that a process repeats: when each is due, and what its errors mean.

One chore is carried out at a time, the one that has been due for longest. A chore that fails is
tried again after a pause that doubles with each failure in a row, unless that cannot help.
"""

from __future__ import annotations

import logging
import math
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from pipeline.errors import BinlakeError, sentence_of
from pipeline.observe import say
from pipeline.observe.interruption import on_first_signal

IDLE_SECONDS = 1.0
"""The shortest time until a chore that had nothing to do looks again."""
FIRST_SECONDS, LONGEST_SECONDS = 1.0, 300.0
"""The pause after a first failure, and the longest."""
TRIES = 5
"""Failures in a row after which an error that is not one of Binlake's ends the process."""
_NAP = 0.1
"""Seconds between checks for a signal while nothing is due."""


@dataclass(slots=True)
class Chore:
    """Work to do every `every` seconds, or once (None); `work` returns True if there was any.

    `due`: when, by the clock. `failures`: in a row; a success `steady` seconds after the last one
    resets them. `failing`: the last try failed. A signal lets an `unhurried` chore end, and
    interrupts others. A permanent error ends the process only if the chore is `essential`.
    """

    name: str
    work: Callable[[], bool]
    every: float | None
    due: float = 0.0
    unhurried: bool = False
    essential: bool = True
    steady: float = 0.0
    failures: int = 0
    failed_at: float = 0.0
    failing: bool = False


class Chores:
    """Executor of chores until it is stopped, or until one fails permanently."""

    def __init__(
        self,
        chores: Sequence[Chore],
        *,
        clock: Callable[[], float] = time.monotonic,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        self.stopping = False
        """Set to end after the current chore, by a signal handler or another thread."""
        self._chores = [*chores]
        self._clock = clock
        self._sleep = sleep

    def add(self, chore: Chore, seconds: float) -> None:
        """Add a chore that is due in `seconds`, or in its own interval if that is shorter."""
        chore.due = self._clock() + min(seconds, chore.every or 0)
        self._chores.append(chore)

    def run(self) -> None:
        """Carry out what is due until `stopping`. Raises the error that ends it."""
        with on_first_signal(self.stop):
            while not self.stopping:
                # Of those that are due at the same time, the first in the list.
                chore = min(self._chores, key=lambda each: each.due)
                left = chore.due - self._clock()
                if left > 0:
                    self._sleep(min(left, _NAP))
                else:
                    self._carry_out(chore)

    @property
    def failing(self) -> bool:
        """True if the last try of an essential chore failed."""
        return any(chore.failing for chore in self._chores if chore.essential)

    def stop(self) -> None:
        """End after the chore that is being carried out."""
        self.stopping = True

    def _carry_out(self, chore: Chore) -> None:
        began = self._clock()
        try:
            with on_first_signal(self.stop if chore.unhurried else None):
                worked = chore.work()
        except Exception as error:
            self._failed(chore, error)
            return
        chore.failing = False
        if self._clock() - chore.failed_at >= chore.steady:
            chore.failures = 0
        pause = 0.0 if worked else IDLE_SECONDS
        chore.due = max(began + (chore.every or 0), self._clock() + pause)
        if worked and chore.every is None:
            chore.due = math.inf

    def _failed(self, chore: Chore, error: Exception) -> None:
        chore.failures += 1
        chore.failing, chore.failed_at = True, self._clock()
        if chore.essential and not may_pass(error, chore.failures):
            raise error
        pause = min(FIRST_SECONDS * 2.0 ** min(chore.failures - 1, 32), LONGEST_SECONDS)
        if not chore.essential:
            pause = max(pause, chore.every or 0)
        chore.due = self._clock() + pause
        say(
            "sync_retries",
            f"{chore.name} failed: {sentence_of(error)} Trying again in {pause:.0f} s.",
            level=logging.WARNING,
            chore=chore.name,
            failures=chore.failures,
        )


def may_pass(error: Exception, failures: int) -> bool:
    """Return True if a retry may succeed after this many failures in a row.

    Binlake's own errors are `retryable` or not. Others, for example of a store or of Spark, may be
    transient.
    """
    if isinstance(error, BinlakeError):
        return error.retryable
    return failures < TRIES
