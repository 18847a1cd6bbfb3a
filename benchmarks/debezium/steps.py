"""Seconds by step of a layer, measured by the tasks that it reports to its progress."""

from __future__ import annotations

import time
from collections import defaultdict
from types import TracebackType

REST = "planning, lookups and records in between"
"""The time of a layer outside of its tasks."""


class TimedSteps:
    """A `Progress` that shows nothing, and sums the seconds of each task."""

    def __init__(self) -> None:
        self.seconds: dict[str, float] = defaultdict(float)

    def task(self, name: str, total: int | None = None, unit: str = "") -> TimedTask:
        """Return a task that is timed while its `with` block runs; tasks are not nested."""
        return TimedTask(self.seconds, name)

    def steps(self, whole: float) -> dict[str, float]:
        """Return the seconds of each task, and the rest of the `whole`."""
        return {**self.seconds, REST: whole - sum(self.seconds.values())}


class TimedTask:
    """A timed task."""

    def __init__(self, seconds: dict[str, float], name: str) -> None:
        self._seconds = seconds
        self._name = name
        self._began = 0.0

    def advance(self, amount: int = 1) -> None:
        """Do nothing: progress within a task is not measured."""

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
