"""Records of runs on a narrow and on a wide terminal."""

from __future__ import annotations

import io
from dataclasses import replace

import pytest
from rich.console import Console

from pipeline.cli.show_runs import show_runs
from pipeline.lake.ledger.run_record import RecordedBatch
from tests.unit.pipeline.lake.ledger.test_run_record import RECORD


def shown(*runs: object, width: int = 80) -> str:
    screen = io.StringIO()
    show_runs(runs, "/lake", Console(file=screen, width=width, color_system=None))
    return screen.getvalue()


def test_at_80_columns_a_run_is_an_item_of_a_list() -> None:
    done = replace(RECORD, run_id="r2", outcome="done", exit_code=0, error=None, batches=())
    assert shown(RECORD, done).splitlines() == [
        "Runs of lake /lake, the newest first; times are in UTC",
        "1 of 2 failed, were interrupted or left faults.",
        "2026-11-22 23:59:58  shop  run  failed (1)  4.0 s",
        "  2 faults, 0.0 MiB, 9 rows decoded, 4 applied, lag 1 h 0 min",
        "  failed: It was too much: ü.",
        "  finished what another run planned: silver batch 3",
        "2026-11-22 23:59:58  shop  run  done (0)  4.0 s",
        "  2 faults, 0.0 MiB, 9 rows decoded, 4 applied, lag 1 h 0 min",
    ]


def test_on_a_wide_terminal_a_run_is_a_row_after_the_errors() -> None:
    done = replace(RECORD, run_id="r2", outcome="done", exit_code=0, error=None)
    screen = shown(RECORD, done, width=140)
    row, second = (line for line in screen.splitlines() if "2026-11-22 23:59:58" in line)
    for cell in ("shop", "run", "failed (1)", "4.0", "9", "4", "1 h 0 min", "2 faults"):
        assert cell in row
    assert "done (0)" in second
    error = "11-22 23:59:58 failed: It was too much: ü.\n"
    assert screen.index(error) < screen.index(row)
    assert screen.count("finished what another run planned: silver batch 3\n") == 2


def test_runs_that_ended_well_need_no_summary() -> None:
    done = replace(RECORD, outcome="nothing_new", exit_code=0, error=None)
    assert "left faults" not in shown(done)


@pytest.mark.parametrize("width", [80, 140])
def test_an_error_is_printed_literally(width: int) -> None:
    assert "failed: [red]a[/red]" in shown(replace(RECORD, error="[red]a[/red]"), width=width)


def test_batches_that_a_run_planned_itself_are_not_mentioned() -> None:
    assert "another run" not in shown(replace(RECORD, batches=(RecordedBatch("bronze", 7),)))


def test_a_lake_without_records_is_one_line() -> None:
    assert shown() == "No run is recorded in the lake /lake.\n"
