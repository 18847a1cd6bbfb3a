"""Telling a person how far long work is: how much is done, how fast, how long still.

Work reports to a `Progress` and never asks whether anyone looks. `for_terminal` gives bars where
standard error is a terminal, and silence elsewhere.
"""

from __future__ import annotations

import sys
from types import TracebackType
from typing import Protocol

from rich.console import Console
from rich.progress import (
    BarColumn,
    DownloadColumn,
    Progress as RichProgress,
    ProgressColumn,
    SpinnerColumn,
    Task as RichTask,
    TextColumn,
    TimeElapsedColumn,
    TimeRemainingColumn,
)
from rich.text import Text


class Task(Protocol):
    """One piece of work under way; a context manager whose end completes it."""

    def advance(self, amount: int = 1) -> None:
        """Count `amount` more units as done; may be called from any thread."""

    def __enter__(self) -> Task: ...

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None: ...


class Progress(Protocol):
    """Where work reports to."""

    def task(self, name: str, total: int | None = None, unit: str = "") -> Task:
        """Begin work of `total` units (None: not known); unit `bytes` is shown as MB."""


class _Silent:
    def advance(self, amount: int = 1) -> None:
        """Nothing is shown."""

    def __enter__(self) -> _Silent:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Nothing is shown."""


class QuietProgress:
    """Shows nothing: for logs, pipes and tests."""

    def task(self, name: str, total: int | None = None, unit: str = "") -> Task:
        """A task that nobody sees."""
        return _Silent()


class _CountColumn(ProgressColumn):
    """`12/40 files`, or the same in MB, with the rate."""

    def __init__(self) -> None:
        super().__init__()
        self._bytes = DownloadColumn(binary_units=True)

    def render(self, task: RichTask) -> Text:
        """The counts of one task."""
        unit = task.fields["unit"]
        if unit == "bytes":
            done = self._bytes.render(task)
            return Text.assemble(done, f"  {(task.speed or 0) / (1 << 20):,.1f} MiB/s")
        count = f"{task.completed:,.0f}"
        if task.total is not None:
            count += f"/{task.total:,.0f}"
        rate = f"  {task.speed:,.1f}/s" if task.speed else ""
        return Text(f"{count} {unit}{rate}".strip())


class _Bar:
    """A line of the display; leaves it when done, so that only work under way is shown."""

    def __init__(self, progress: RichProgress, name: str, total: int | None, unit: str) -> None:
        self._progress = progress
        self._id = progress.add_task(name, total=total, unit=unit)

    def advance(self, amount: int = 1) -> None:
        self._progress.advance(self._id, amount)

    def __enter__(self) -> _Bar:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._progress.remove_task(self._id)
        if not self._progress.tasks:
            self._progress.stop()


class TerminalProgress:
    """Bars on a terminal, drawn only while a task is under way."""

    def __init__(self, console: Console) -> None:
        self._progress = RichProgress(
            SpinnerColumn(),
            TextColumn("{task.description}"),
            BarColumn(bar_width=30),
            _CountColumn(),
            TimeElapsedColumn(),
            TextColumn("left"),
            TimeRemainingColumn(),
            console=console,
            transient=True,
        )

    def task(self, name: str, total: int | None = None, unit: str = "") -> Task:
        """A new line of the display."""
        self._progress.start()
        return _Bar(self._progress, name, total, unit)

    def refresh(self) -> None:
        """Draw now, if anything is under way, instead of at the next tenth of a second."""
        if self._progress.tasks:
            self._progress.refresh()


def for_terminal() -> Progress:
    """Bars if standard error is a terminal, silence otherwise."""
    if not sys.stderr.isatty():
        return QuietProgress()
    return TerminalProgress(Console(stderr=True))
