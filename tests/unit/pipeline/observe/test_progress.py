"""Progress: shown on a terminal, silent elsewhere."""

from __future__ import annotations

import io
import sys

import pytest
from rich.console import Console

from pipeline.observe.progress import QuietProgress, TerminalProgress, for_terminal


def drawn(unit: str, total: int | None, *amounts: int) -> str:
    """Return the last drawn line of a task."""
    screen = io.StringIO()
    console = Console(file=screen, force_terminal=True, width=120, color_system=None)
    progress = TerminalProgress(console)
    with progress.task("decode", total, unit) as task:
        for amount in amounts:
            task.advance(amount)
        progress.refresh()
        return screen.getvalue().splitlines()[-1]


@pytest.mark.parametrize(
    ("unit", "total", "amounts", "text"),
    [
        ("files", 40, (1, 11), "12/40 files"),
        ("files", None, (3,), "3 files"),
        ("bytes", 32 << 20, (16 << 20,), "16.0/32.0 MiB"),
    ],
)
def test_a_terminal_shows_how_much_is_done(
    unit: str, total: int | None, amounts: tuple[int, ...], text: str
) -> None:
    line = drawn(unit, total, *amounts)
    assert "decode" in line
    assert text in line


def test_the_display_ends_with_its_last_task() -> None:
    screen = io.StringIO()
    progress = TerminalProgress(Console(file=screen, force_terminal=True, width=80))
    with progress.task("outer", 2), progress.task("inner", 1) as inner:
        inner.advance()
    shown = len(screen.getvalue())
    progress.refresh()
    assert len(screen.getvalue()) == shown
    with progress.task("again", 1):
        progress.refresh()
    assert "again" in screen.getvalue()[shown:]


def test_nothing_is_shown_without_a_terminal(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys, "stderr", io.StringIO())
    progress = for_terminal()
    assert isinstance(progress, QuietProgress)
    with progress.task("decode", 3, "files") as task:
        task.advance(3)
    assert capsys.readouterr() == ("", "")
