"""Progress of long work, for a person: amount done, rate and time left.

Code reports to a `Progress` whether or not it is displayed. `for_terminal` returns progress bars
if standard error is a terminal, and a silent Progress otherwise.
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
    """A receiver of progress reports."""

    def task(
        self, name: str, total: int | None = None, unit: str = ""
    ) -> AbstractContextManager[Task]:
        """Begin a task of `total` units (None: unknown), which ends with the block; unit `bytes` is
        shown as MiB."""


class _Silent:
    def advance(self, amount: int = 1) -> None:
        """Show nothing."""


class QuietProgress:
    """A Progress that shows nothing: for logs, pipes and tests."""

    def task(
        self, name: str, total: int | None = None, unit: str = ""
    ) -> AbstractContextManager[Task]:
        """Begin a task that is not shown."""
        return nullcontext(_Silent())


class _CountColumn(ProgressColumn):
    """Count and rate: `12/40 files  3.0/s`, or in MiB."""

    def __init__(self) -> None:
        super().__init__()
        self._bytes = DownloadColumn(binary_units=True)

    def render(self, task: RichTask) -> Text:
        """Return the text for one task."""
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
    """A Progress with bars on a terminal, drawn only while a task is running."""

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
        """Add a line to the display, and remove it when the task ends: only running tasks show."""
        self._progress.start()
        line = self._progress.add_task(name, total=total, unit=unit)
        try:
            yield _Bar(self._progress, line)
        finally:
            self._progress.remove_task(line)
            if not self._progress.tasks:
                self._progress.stop()

    def refresh(self) -> None:
        """Redraw now if any task is running, instead of at the next tenth of a second."""
        if self._progress.tasks:
            self._progress.refresh()


def for_terminal() -> Progress:
    """Return progress bars if standard error is a terminal, a silent Progress otherwise."""
    if not sys.stderr.isatty():
        return QuietProgress()
    return TerminalProgress(Console(stderr=True))
