"""Progress as lines of the log."""

from __future__ import annotations

import time

import pytest

from pipeline.observe.current_run import begin
from pipeline.observe.progress import LogProgress, amount
from tests.support.observe.captured_log import LogRecords, captured_log


def wait_for(said: LogRecords, done: int) -> None:
    """Wait for a line with this amount done."""
    while not any(line["done"] == done for line in list(said.lines)):
        time.sleep(0.01)


def test_a_task_logs_its_progress_until_it_is_done() -> None:
    work = LogProgress(0.01)
    with captured_log() as said, begin("shop") as run, work.task("apply", 8, "tables") as task:
        task.advance(2)
        wait_for(said, 2)
        task.advance(6)
    first = next(line for line in said.lines if line["done"] == 2)
    assert (first["event"], first["task"], first["unit"]) == ("progress", "apply", "tables")
    assert (first["total"], first["run_id"], first["source"]) == (8, run.id, "shop")
    assert first["seconds_left"] >= 0
    assert first["message"] == "apply is under way: 2 of 8 tables"
    assert said.lines[-1]["message"] == "apply is done: 8 of 8 tables"


def test_a_short_task_logs_nothing() -> None:
    with captured_log() as said, LogProgress(60).task("decode", None, "segments") as task:
        task.advance()
    assert said.lines == []


def test_a_failed_task_is_not_logged_as_done() -> None:
    def fail(said: LogRecords) -> None:
        with LogProgress(0.01).task("decode"):
            wait_for(said, 0)
            raise ValueError("broken")

    with captured_log() as said, pytest.raises(ValueError, match="broken"):
        fail(said)
    assert {line["message"] for line in said.lines} == {"decode is under way: 0"}


@pytest.mark.parametrize(
    ("done", "total", "unit", "text"),
    [
        (12, 4000, "files", "12 of 4,000 files"),
        (3, None, "files", "3 files"),
        (3 << 19, 3 << 20, "bytes", "1.5 of 3.0 MiB"),
    ],
)
def test_amounts_are_formatted_with_their_unit(done: int, total: int, unit: str, text: str) -> None:
    assert amount(done, total, unit) == text
