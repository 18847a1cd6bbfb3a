"""Progress: shown on a terminal, silent elsewhere."""

from __future__ import annotations

import io
import sys
import threading

import pytest
from rich.cells import cell_len
from rich.console import Console
from rich.progress import Progress as RichProgress

from pipeline.observe.progress import (
    QuietProgress,
    TerminalProgress,
    _clock,
    _TimeColumn,
    terminal_progress,
)


def drawn(name: str, unit: str, total: int | None, *amounts: int, width: int = 80) -> str:
    """The last drawing of a task, which is one line."""
    screen = io.StringIO()
    console = Console(file=screen, force_terminal=True, width=width, color_system=None)
    progress = TerminalProgress(console)
    with progress.task(name, total, unit) as task:
        for amount in amounts:
            task.advance(amount)
        progress.refresh()
        drawing = screen.getvalue()
    before, _, last = drawing.rpartition("\r")
    assert "\n" not in last, before
    return last.removeprefix("\x1b[2K").rstrip()


@pytest.mark.parametrize(
    ("unit", "total", "amounts", "count"),
    [
        ("files", 40, (1, 11), "12/40 files"),
        ("files", None, (3,), "3 files"),
        ("bytes", 32 << 20, (16 << 20,), "16.0/32.0 MiB"),
    ],
)
@pytest.mark.parametrize("width", [80, 120])
def test_a_task_is_one_line_with_its_count_and_its_times(
    unit: str, total: int | None, amounts: tuple[int, ...], count: str, width: int
) -> None:
    line = drawn("decode", unit, total, *amounts, width=width)
    assert "decode" in line
    assert count in line
    assert "0:00 elapsed" in line
    assert "/s" not in line or width > 80
    assert cell_len(line) <= width


def test_a_task_that_counts_nothing_shows_its_name_and_the_time_elapsed() -> None:
    line = drawn("Starting Spark …", "", None)
    assert "Starting Spark …" in line
    assert line.endswith("0:00 elapsed")


def test_long_names_and_counts_still_fit_80_columns() -> None:
    line = drawn("compiling the decoder, once per machine", "kernels", None, 12)
    assert "compiling the decoder, once per machine" in line
    assert "12 kernels" in line
    line = drawn("reading new files", "files", 12_345, 1_234)
    assert "1,234/12,345 files" in line


def test_the_time_left_follows_the_time_elapsed() -> None:
    now = [0.0]
    display = RichProgress(get_time=lambda: now[0], auto_refresh=False)
    line = display.add_task("decode", total=100, unit="files")
    now[0] = 30.0
    display.advance(line, 25)
    assert _TimeColumn().render(display.tasks[0]).plain == "0:30 elapsed, 1:30 left"
    display.advance(line, 200)  # more than was known at the start
    assert _TimeColumn().render(display.tasks[0]).plain == "0:30 elapsed, 0:00 left"


@pytest.mark.parametrize(
    ("seconds", "text"), [(0, "0:00"), (12.9, "0:12"), (725, "12:05"), (3_723, "1:02:03")]
)
def test_times_are_clocks(seconds: float, text: str) -> None:
    assert _clock(seconds) == text


def test_tasks_of_several_threads_share_the_display() -> None:
    screen = io.StringIO()
    progress = TerminalProgress(Console(file=screen, force_terminal=True, width=80))
    both = threading.Barrier(2)

    def work(name: str) -> None:
        with progress.task(name, 1):
            both.wait(10)
            progress.refresh()
            both.wait(10)

    threads = [threading.Thread(target=work, args=(name,)) for name in ("gold", "Spark")]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert "gold" in screen.getvalue()
    assert "Spark" in screen.getvalue()


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
    progress = terminal_progress()
    assert isinstance(progress, QuietProgress)
    with progress.task("decode", 3, "files") as task:
        task.advance(3)
    assert capsys.readouterr() == ("", "")
