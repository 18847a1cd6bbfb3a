"""Telling a person how far long work is: how much is done, how fast, how long still.

Work reports to a `Progress` and never asks whether anyone looks. `for_terminal` gives bars where
standard error is a terminal, and silence elsewhere.
"""

from __future__ import annotations

import sys
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
    TimeElapsedColumn,
    TimeRemainingColumn,
)
from rich.text import Text


class Task(Protocol):
    """One piece of work under way."""

    def advance(self, amount: int = 1) -> None:
        """Count `amount` more units as done; may be called from any thread."""


class Progress(Protocol):
    """Where work reports to."""

    def task(
        self, name: str, total: int | None = None, unit: str = ""
    ) -> AbstractContextManager[Task]:
        """Begin work of `total` units (None: not known), which the block's end completes; unit
        `bytes` is shown as MB."""


class _Silent:
    def advance(self, amount: int = 1) -> None:
        """Nothing is shown."""


class QuietProgress:
    """Shows nothing: for logs, pipes and tests."""

    def task(
        self, name: str, total: int | None = None, unit: str = ""
    ) -> AbstractContextManager[Task]:
        """A task that nobody sees."""
        return nullcontext(_Silent())


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


@dataclass(frozen=True, slots=True)
class _Bar:
    """A line of the display."""

    progress: RichProgress
    line: TaskID

    def advance(self, amount: int = 1) -> None:
        self.progress.advance(self.line, amount)


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

    @contextmanager
    def task(self, name: str, total: int | None = None, unit: str = "") -> Iterator[Task]:
        """A line of the display; it goes when it is done, so that only work under way is shown."""
        self._progress.start()
        line = self._progress.add_task(name, total=total, unit=unit)
        try:
            yield _Bar(self._progress, line)
        finally:
            self._progress.remove_task(line)
            if not self._progress.tasks:
                self._progress.stop()

    def refresh(self) -> None:
        """Draw now, if anything is under way, instead of at the next tenth of a second."""
        if self._progress.tasks:
            self._progress.refresh()


def for_terminal() -> Progress:
    """Bars if standard error is a terminal, silence otherwise."""
    if not sys.stderr.isatty():
        return QuietProgress()
    return TerminalProgress(Console(stderr=True))
