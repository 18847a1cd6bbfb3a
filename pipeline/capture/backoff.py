"""How long to wait before connecting anew: longer each time, never longer than a limit."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass

FIRST_SECONDS = 0.2


@dataclass(slots=True)
class Backoff:
    """`longest` is in seconds. `tries` counts since the last progress."""

    longest: float
    tries: int = 0
    chance: Callable[[], float] = random.random

    def next(self) -> float:
        """Seconds to wait now: between half of and all of a time that doubles with each try, so
        that many who lost the same server do not come back at once."""
        time = min(self.longest, FIRST_SECONDS * 2.0 ** min(self.tries, 32))
        self.tries += 1
        return time * (0.5 + self.chance() / 2)

    def progress(self) -> None:
        """It went on: the next wait is a short one."""
        self.tries = 0
