"""Seconds by step of a layer: the tasks that it tells a progress of."""

from __future__ import annotations

import time
from collections import defaultdict
from types import TracebackType

REST = "plans, looks and records between them"
"""What a layer does beside its tasks."""


class TimedSteps:
    """A `Progress` that shows nothing, and adds up how long each task was under way."""

    def __init__(self) -> None:
        self.seconds: dict[str, float] = defaultdict(float)

    def task(self, name: str, total: int | None = None, unit: str = "") -> TimedTask:
        """Begins when it is entered; no task runs inside of another."""
        return TimedTask(self.seconds, name)

    def steps(self, whole: float) -> dict[str, float]:
        """Each task, and what is left of the whole."""
        return {**self.seconds, REST: whole - sum(self.seconds.values())}


class TimedTask:
    """One task under way."""

    def __init__(self, seconds: dict[str, float], name: str) -> None:
        self._seconds = seconds
        self._name = name
        self._began = 0.0

    def advance(self, amount: int = 1) -> None:
        """How far it is does not matter."""

    def __enter__(self) -> TimedTask:
        self._began = time.monotonic()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._seconds[self._name] += time.monotonic() - self._began
