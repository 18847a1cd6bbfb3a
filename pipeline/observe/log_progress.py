"""Progress of long work as log lines, for runs without a terminal.

Each task logs its progress at intervals, even if there was none: a line that does not change shows
what a run is waiting for. A task that ends before the first interval logs nothing.
"""

from __future__ import annotations

import contextvars
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager

from pipeline.observe.log import say
from pipeline.observe.progress import Task

INTERVAL = 30.0
"""Seconds between lines of one task."""


class LogProgress:
    """A Progress that logs."""

    def __init__(self, interval: float = INTERVAL) -> None:
        self._interval = interval

    @contextmanager
    def task(self, name: str, total: int | None = None, unit: str = "") -> Iterator[Task]:
        """Begin a task that logs its progress until the block ends."""
        task = _LoggedTask(name, total, unit, self._interval)
        task.thread.start()
        try:
            yield task
        finally:
            task.over.set()
            task.thread.join()
        task.end()


class _LoggedTask:
    """A task, and the thread that logs its progress."""

    def __init__(self, name: str, total: int | None, unit: str, interval: float) -> None:
        self._name = name
        self._total = total
        self._unit = unit
        self._interval = interval
        self._done = 0
        self._began = time.monotonic()
        self._logged = False
        self._lock = threading.Lock()
        self.over = threading.Event()
        # The thread's lines carry the id of the run that began the task.
        context = contextvars.copy_context()
        self.thread = threading.Thread(target=context.run, args=(self._log,), daemon=True)

    def advance(self, amount: int = 1) -> None:
        with self._lock:
            self._done += amount

    def end(self) -> None:
        """Log the end of the task, if it logged anything before."""
        if self._logged:
            self._say("is done")

    def _log(self) -> None:
        while not self.over.wait(self._interval):
            self._logged = True
            self._say("is under way")

    def _say(self, state: str) -> None:
        seconds = time.monotonic() - self._began
        rate = self._done / seconds if seconds else 0.0
        left = self._total - self._done if self._total is not None else None
        say(
            "progress",
            f"{self._name} {state}: {amount(self._done, self._total, self._unit)}",
            task=self._name,
            done=self._done,
            total=self._total,
            unit=self._unit or None,
            seconds=round(seconds, 1),
            rate=round(rate, 1),
            seconds_left=round(left / rate, 1) if left is not None and rate else None,
        )


def amount(done: int, total: int | None, unit: str) -> str:
    """Return an amount with its unit: `12 of 40 files`, `1.5 of 3.0 MiB`."""
    if unit == "bytes":
        parts, unit = [f"{n / (1 << 20):,.1f}" for n in (done, total) if n is not None], "MiB"
    else:
        parts = [f"{n:,}" for n in (done, total) if n is not None]
    return f"{' of '.join(parts)} {unit}".strip()
