"""How long to wait before connecting again, and how often it is tried."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass

from pipeline.errors import BinlakeError
from pipeline.settings.capture import CaptureSettings
from pipeline.source.capture.errors import (
    BrokenDumpError,
    DumpRefusedError,
    LostConnectionError,
    NotLandedError,
)
from pipeline.source.server.errors import ServerUnreachableError

TRIES_OF_A_DUMP = 3
"""A dump that the server refuses, or that is broken, is asked for so often without a byte."""
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


def most_tries(error: BinlakeError, settings: CaptureSettings) -> int | None:
    """How often it is tried before that error ends the capture; None: for ever."""
    if isinstance(error, DumpRefusedError | BrokenDumpError):
        return TRIES_OF_A_DUMP
    if not isinstance(error, LostConnectionError | ServerUnreachableError | NotLandedError):
        return 1
    return None if settings.forever else settings.retry.tries
