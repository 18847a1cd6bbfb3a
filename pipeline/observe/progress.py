"""Progress of long work: the amount done, the rate, the time elapsed and the time left.

Work reports to a `Progress` whether anyone looks or not. `terminal_progress` shows bars if standard
error is a terminal, and nothing elsewhere; `LogProgress` logs lines.
"""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass
from typing import Protocol

from rich.console import Console
from rich.progress import (
    BarColumn,
    DownloadColumn,
    Progress as RichProgress,
    ProgressColumn,
    SpinnerColumn,
    Task as RichTask,
    TaskID,
    TextColumn,
)
from rich.table import Column
from rich.text import Text

from pipeline.observe.current_run import repeating
from pipeline.observe.run_log import say

_ROOM_FOR_RATES = 100
"""Columns of a terminal that also shows how fast a task is."""
INTERVAL = 30.0
"""Seconds between log lines of one task."""


class Task(Protocol):
    """One piece of work under way."""

    def advance(self, amount: int = 1) -> None:
        """Count `amount` more units as done; may be called from any thread."""


class Progress(Protocol):
    """A receiver of progress reports."""

    def task(
        self, name: str, total: int | None = None, unit: str = ""
    ) -> AbstractContextManager[Task]:
        """Start a task of `total` units (None: unknown) that ends with the block.

        Unit `bytes` is shown as MiB. May be called from any thread.
        """


class _Silent:
    def advance(self, amount: int = 1) -> None:
        """Show nothing."""


class QuietProgress:
    """A Progress that shows nothing: for logs, pipes and tests."""

    def task(
        self, name: str, total: int | None = None, unit: str = ""
    ) -> AbstractContextManager[Task]:
        """Return a task that is not shown."""
        return nullcontext(_Silent())


class LogProgress:
    """A Progress that logs, for runs without a terminal.

    Each task logs its progress at intervals, even if there was none: a line that does not change
    shows what a run is waiting for. A task that ends before the first interval logs nothing.
    """

    def __init__(self, interval: float = INTERVAL) -> None:
        self._interval = interval

    @contextmanager
    def task(self, name: str, total: int | None = None, unit: str = "") -> Iterator[Task]:
        """Begin a task that logs its progress until the block ends."""
        task = _LoggedTask(name, total, unit)
        with repeating(lambda: task.say(" so far"), self._interval):
            yield task
        if task.is_logged:
            task.say(", done")


class _LoggedTask:
    def __init__(self, name: str, total: int | None, unit: str) -> None:
        self.is_logged = False
        self._name = name
        self._total = total
        self._unit = unit
        self._done = 0
        self._began = time.monotonic()
        self._lock = threading.Lock()

    def advance(self, amount: int = 1) -> None:
        with self._lock:
            self._done += amount

    def say(self, state: str) -> None:
        """Log how much is done (of work that counts nothing, the time elapsed), how fast, and the
        time left."""
        self.is_logged = True
        seconds = time.monotonic() - self._began
        rate = self._done / seconds if seconds else 0.0
        left = self._total - self._done if self._total is not None else None
        counts = bool(self._unit) or self._total is not None
        done = amount(self._done, self._total, self._unit) if counts else f"{seconds:.0f} s"
        say(
            "progress",
            f"{self._name}: {done}{state}",
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


class _CountColumn(ProgressColumn):
    """`12/40 files`, or `1.5/3.0 MiB`; on a wide terminal with the rate."""

    def __init__(self, *, rates: bool) -> None:
        super().__init__()
        self._bytes = DownloadColumn(binary_units=True)
        self._rates = rates

    def render(self, task: RichTask) -> Text:
        """Return the counts of one task; nothing for one that counts nothing."""
        unit = task.fields["unit"]
        if unit == "bytes":
            rate = f"  {(task.speed or 0) / (1 << 20):,.1f} MiB/s" if self._rates else ""
            return Text.assemble(self._bytes.render(task), rate)
        if not unit and task.total is None:
            return Text()
        count = f"{task.completed:,.0f}"
        if task.total is not None:
            count += f"/{task.total:,.0f}"
        rate = f"  {task.speed:,.1f}/s" if task.speed and self._rates else ""
        return Text(f"{count} {unit}{rate}".strip())


class _TimeColumn(ProgressColumn):
    """`0:12 elapsed, 1:30 left`; only the time elapsed while the rest cannot be estimated."""

    max_refresh = 0.5
    """Seconds between two estimates, which would jump about otherwise."""

    def render(self, task: RichTask) -> Text:
        """Return the times of one task."""
        elapsed = task.elapsed or 0.0
        text = f"{_clock(elapsed)} elapsed"
        if task.total is not None and task.completed:
            # By the mean since the start: tables end in bursts, by which rich's estimate jumps.
            text += f", {_clock(elapsed * max(task.total / task.completed - 1, 0))} left"
        return Text(text)


def _clock(seconds: float) -> str:
    """Return `0:12` (minutes and seconds) or `1:02:03` (with hours)."""
    minutes, second = divmod(int(seconds), 60)
    hours, minute = divmod(minutes, 60)
    return f"{hours}:{minute:02}:{second:02}" if hours else f"{minute}:{second:02}"


@dataclass(frozen=True, slots=True)
class _Bar:
    """A line of the display."""

    progress: RichProgress
    line: TaskID

    def advance(self, amount: int = 1) -> None:
        self.progress.advance(self.line, amount)


class TerminalProgress:
    """Bars on a terminal, one line per task, drawn only while a task is under way."""

    def __init__(self, console: Console) -> None:
        # The bar takes the room that the texts leave, so that each task is one line.
        self._progress = RichProgress(
            SpinnerColumn(),
            TextColumn("{task.description}"),
            BarColumn(bar_width=None, table_column=Column(ratio=1)),
            _CountColumn(rates=console.width >= _ROOM_FOR_RATES),
            _TimeColumn(),
            console=console,
            expand=True,
            transient=True,
        )
        self._lock = threading.Lock()

    @contextmanager
    def task(self, name: str, total: int | None = None, unit: str = "") -> Iterator[Task]:
        """Show a task until it ends."""
        line = None
        try:
            with self._lock:
                self._progress.start()
                line = self._progress.add_task(name, total=total, unit=unit)
            yield _Bar(self._progress, line)
        except KeyboardInterrupt:
            # At once, with all tasks: the last words of the command need the terminal.
            self._progress.stop()
            raise
        finally:
            with self._lock:
                if line is not None:
                    self._progress.remove_task(line)
                if not self._progress.tasks:
                    self._progress.stop()

    def refresh(self) -> None:
        """Draw now, if a task is under way, instead of at the next tenth of a second."""
        if self._progress.tasks:
            self._progress.refresh()


def terminal_progress() -> Progress:
    """Return bars if standard error is a terminal, and a progress that shows nothing otherwise."""
    if not sys.stderr.isatty():
        return QuietProgress()
    return TerminalProgress(Console(stderr=True))
