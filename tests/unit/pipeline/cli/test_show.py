"""Reports and the status on a terminal."""

from __future__ import annotations

import io
from datetime import datetime, timedelta, timezone

import pytest
from rich.console import Console

from pipeline.catalog import TableName
from pipeline.cli.show import show_problems, show_reports, show_status
from pipeline.observe import LayerReport
from pipeline.run.source_status import LastRun, SourceStatus
from pipeline.run.status import LayerStatus, Status, TableStatus, seeding
from pipeline.settings import Settings
from pipeline.source.capture.capture_status import CaptureStanding

AT = datetime(2026, 11, 22, 12, tzinfo=timezone.utc)
REPORTS = [
    LayerReport("bronze", (1,), {"files": 2, "bytes": 12345}, gaps=("binlog.000002 [x] is gone.",)),
    LayerReport("gold", faults=("shop.cups is held.",), notes=("shop.pots is left out.",)),
]


def screen() -> Console:
    return Console(file=io.StringIO(), width=150, color_system=None)


def shown(console: Console) -> str:
    assert isinstance(console.file, io.StringIO)
    return console.file.getvalue()


def status(*sources: SourceStatus) -> str:
    console = screen()
    layer = LayerStatus("shop", "gold", 7, "finished", AT)
    show_status(Status("/data/[prod]/lake", (layer,), (), ("It is damaged.",), sources), console)
    return shown(console)


def test_a_report_is_a_line_a_layer_and_problems_are_lines_of_their_own() -> None:
    out, errors = screen(), screen()
    show_reports(REPORTS, Settings(lake="/data/[/x]/lake"), out)
    show_problems(REPORTS, errors)
    assert "Lake /data/[/x]/lake" in shown(out)
    assert "2 files, 12,345 bytes" in shown(out)
    assert "nothing new" in shown(out)
    assert shown(errors).splitlines() == [
        "bronze gap: binlog.000002 [x] is gone.",
        "gold fault: shop.cups is held.",
        "gold note: shop.pots is left out.",
    ]


def test_the_status_tells_how_old_gold_is_and_how_the_last_run_went() -> None:
    run = LastRun("r1", "apply", AT, AT + timedelta(seconds=9), "failed", 1, "[It] was too much.")
    told = status(SourceStatus("shop", 5, AT, AT, 42.0, 7_260.0, run, gtid_set="0-1-9"))
    row = next(line for line in told.splitlines() if "42.0 s" in line)
    for cell in ("shop", "2026-11-22T12:00:00+00:00", "2 h 1 min", "apply at", "failed: [It]"):
        assert cell in row
    assert "It is damaged." in told
    assert "Lake /data/[prod]/lake" in told
    assert "shop: gold holds 0-1-9" in told


def test_the_status_tells_how_far_the_capture_is() -> None:
    console = screen()
    capture = CaptureStanding("shop", "/landed", problem="its state cannot be read: [Errno 5].")
    show_status(Status("/lake", (), (), (), capture=capture), console)
    assert "Capture of shop into /landed: its state cannot be read: [Errno 5]." in shown(console)


def test_a_source_of_an_older_release_has_no_record_of_its_runs() -> None:
    told = status(SourceStatus("shop", None, None, None, None, None, None))
    assert "not recorded" in told


def incomplete(table: str) -> TableStatus:
    name = TableName("shop", table)
    place = f"/lake/gold/shop/{table}"
    state = (1, 0, False, False, False, True, "Its CREATE TABLE is not in the log.", 0)
    return TableStatus("erp", "shop", table, place, *state, seeding("/my lake", "erp", name))


@pytest.mark.parametrize(
    ("tables", "begins", "command"),
    [
        (["cu[p]"], "shop.cu[p] is incomplete: ", " --table 'shop.cu[[]p]' reads its rows"),
        (
            ["cup", "pan", "pot"],
            "shop.cup and 2 more tables of erp are incomplete: ",
            " reads their rows",
        ),
    ],
)
def test_how_incomplete_tables_are_completed_is_told_with_the_command(
    tables: list[str], begins: str, command: str
) -> None:
    console = screen()
    show_status(Status("/my lake", (), tuple(map(incomplete, tables)), ()), console)
    seed = f"{begins}binlake seed --source erp --lake '/my lake'{command} from the server,"
    assert f"{seed} and binlake run loads them." in shown(console).splitlines()
