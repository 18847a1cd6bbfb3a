"""Delays and limits of reconnecting."""

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
"""Tries without a new byte if the server refuses the dump or sends a broken one."""
FIRST_SECONDS = 0.2


@dataclass(slots=True)
class Backoff:
    """Exponential backoff with jitter; `longest` is in seconds.

    `tries` counts the tries since the last progress.
    """

    longest: float
    tries: int = 0
    chance: Callable[[], float] = random.random

    def next(self) -> float:
        """Return the seconds to wait: half to all of a time that doubles with each try.

        The jitter keeps clients that lost the same server from reconnecting at once.
        """
        time = min(self.longest, FIRST_SECONDS * 2.0 ** min(self.tries, 32))
        self.tries += 1
        return time * (0.5 + self.chance() / 2)

    def progress(self) -> None:
        """Record progress: the next wait is short again."""
        self.tries = 0


def most_tries(error: BinlakeError, settings: CaptureSettings) -> int | None:
    """Return the number of tries after which the error ends the capture; None: unlimited."""
    if isinstance(error, DumpRefusedError | BrokenDumpError):
        return TRIES_OF_A_DUMP
    if not isinstance(error, LostConnectionError | ServerUnreachableError | NotLandedError):
        return 1
    return None if settings.forever else settings.retry.tries
