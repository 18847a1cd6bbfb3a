"""Progress as lines of the log."""

from __future__ import annotations

import time

import pytest

from pipeline.observe.current_run import begin
from pipeline.observe.progress import LogProgress, amount
from tests.support.observe.captured_log import LogRecords, captured_log


def wait_for(log: LogRecords, done: int) -> None:
    """Wait for a line with this amount done."""
    while not any(line["done"] == done for line in list(log.lines)):
        time.sleep(0.01)


def test_a_task_logs_its_progress_until_it_is_done() -> None:
    work = LogProgress(0.01)
    with (
        captured_log() as log,
        begin("shop") as run,
        work.task("applying changes", 8, "tables") as task,
    ):
        task.advance(2)
        wait_for(log, 2)
        task.advance(6)
    first = next(line for line in log.lines if line["done"] == 2)
    assert (first["event"], first["task"], first["unit"]) == (
        "progress",
        "applying changes",
        "tables",
    )
    assert (first["total"], first["run_id"], first["source"]) == (8, run.id, "shop")
    assert first["seconds_left"] >= 0
    assert first["message"] == "applying changes: 2 of 8 tables so far"
    assert log.lines[-1]["message"] == "applying changes: 8 of 8 tables, done"


def test_a_short_task_logs_nothing() -> None:
    with captured_log() as log, LogProgress(60).task("decoding", None, "segments") as task:
        task.advance()
    assert log.lines == []


def test_a_failed_task_is_not_logged_as_done() -> None:
    def fail(log: LogRecords) -> None:
        with LogProgress(0.01).task("decoding"):
            wait_for(log, 0)
            raise ValueError("broken")

    with captured_log() as log, pytest.raises(ValueError, match="broken"):
        fail(log)
    assert {line["message"] for line in log.lines} == {"decoding: 0 s so far"}


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
