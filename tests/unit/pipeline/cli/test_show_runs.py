"""Records of runs on a terminal."""

from __future__ import annotations

import io
from dataclasses import replace

import pytest
from rich.console import Console

from pipeline.cli.show_runs import duration, show_runs
from pipeline.lake.ledger.run_record import Batch
from tests.unit.pipeline.lake.ledger.test_run_record import RECORD


def shown(*runs: object) -> str:
    screen = io.StringIO()
    show_runs(runs, "/lake", Console(file=screen, width=140, color_system=None))
    return screen.getvalue()


def test_a_run_is_a_line_and_its_error_another() -> None:
    screen = shown(RECORD, replace(RECORD, run_id="r2", outcome="done", exit_code=0, error=None))
    line, second = (line for line in screen.splitlines() if "2026-11-22 23:59:58" in line)
    for cell in ("shop", "run", "failed (1)", "4.0", "9", "4", "1 h 0 min", "2 faults"):
        assert cell in line
    assert "done (0)" in second
    assert "11-22 23:59:58 failed: It was too much: ü.\n" in screen
    assert screen.count("finished what another run had planned: silver batch 3\n") == 2


def test_an_error_is_shown_as_it_is() -> None:
    assert "failed: [red]a[/red]" in shown(replace(RECORD, error="[red]a[/red]", batches=()))


def test_what_a_run_planned_itself_needs_no_word() -> None:
    assert "another run" not in shown(replace(RECORD, batches=(Batch("bronze", 7),)))


def test_a_lake_without_records_says_so() -> None:
    assert shown() == "No run is recorded in the lake /lake.\n"


@pytest.mark.parametrize(
    ("seconds", "told"),
    [
        (None, ""),
        (0, "0.0 s"),
        (59.94, "59.9 s"),
        (245, "4 min 5 s"),
        (12_000, "3 h 20 min"),
        (187_200, "2 d 4 h"),
        (-1.25, "-1.2 s"),
    ],
)
def test_durations_have_two_units(seconds: float | None, told: str) -> None:
    assert duration(seconds) == told
