"""Reports and the status on a terminal of 80 columns."""

from __future__ import annotations

import io
from datetime import datetime, timedelta, timezone

import pytest
from rich.console import Console

from pipeline.cli.show import round_line, show_problems, show_reports, show_status
from pipeline.lake.ledger.ledger import Entry
from pipeline.observe import LayerReport
from pipeline.observe.report import NewestFile
from pipeline.run.status import LastRun, SourceStatus, Status, TableStatus, seeding
from pipeline.schema_history import TableName
from pipeline.settings import Settings
from pipeline.source.capture.capture_status import CaptureStatus

AT = datetime(2026, 11, 22, 12, tzinfo=timezone.utc)
REPORTS = [
    LayerReport("bronze", (1,), {"files": 2, "bytes": 12345}, gaps=("binlog.000002 [x] is gone.",)),
    LayerReport("gold", faults=("shop.cups is held.",), notes=("shop.pots is left out.",)),
]


def screen() -> Console:
    return Console(file=io.StringIO(), width=80, color_system=None)


def shown(console: Console) -> str:
    assert isinstance(console.file, io.StringIO)
    return console.file.getvalue()


def lines(text: str) -> list[str]:
    return [line.rstrip() for line in text.splitlines()]


def status(*sources: SourceStatus) -> str:
    console = screen()
    layer = Entry("shop", "gold", 7, "finished", "r", AT)
    show_status(Status("/data/[prod]/lake", (layer,), (), ("It is damaged.",), sources), console)
    return shown(console)


@pytest.mark.parametrize(
    ("reports", "line"),
    [
        (REPORTS, "0.0 s: bronze 2 files, 12,345 bytes"),
        ([LayerReport("bronze"), LayerReport("gold")], "0.0 s: nothing new"),
        (
            [LayerReport("gold", (1,), {"a.a": 1000, "a.b": 7, "a.c": 0}, seconds=1.25)],
            "1.2 s: gold 1,007 changes in 2 tables",
        ),
    ],
)
def test_a_round_is_a_line(reports: list[LayerReport], line: str) -> None:
    assert round_line(reports) == line


def test_a_report_is_a_line_per_layer_and_problems_are_separate_lines() -> None:
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


def test_a_report_of_nothing_new_has_the_age_of_the_newest_file() -> None:
    out = screen()
    newest = NewestFile("log[/x].7", datetime.now(timezone.utc) - timedelta(hours=3))
    show_reports([LayerReport("bronze", newest=newest)], Settings(lake="/lake"), out)
    assert "nothing new; the newest file, log[/x].7, is 3 h 0 min old" in " ".join(
        shown(out).split()
    )


def test_the_status_has_problems_first_then_freshness_the_last_run_and_layers() -> None:
    run = LastRun("r1", "apply", AT, AT + timedelta(seconds=9), "failed", 1, "[It] was too much.")
    text = status(SourceStatus("shop", 5, AT, AT, 42.0, 7_260.0, run, gtid_set="0-1-9"))
    assert lines(text) == [
        "Lake /data/[prod]/lake",
        "",
        "Problems",
        "  It is damaged.",
        "",
        "Source shop",
        "freshness   gold as of 2026-11-22 12:00:00 UTC, 2 h 1 min old, lag 42.0 s",
        "last run    apply at 2026-11-22 12:00:00 UTC: failed: [It] was too much.",
        "GTID set    0-1-9",
        "gold        batch 7 finished at 2026-11-22 12:00:00 UTC",
    ]


def test_overdue_maintenance_is_a_problem_that_fails_no_check() -> None:
    shop = SourceStatus("shop", 5, AT, AT, 1.0, 1.0, None, overdue="shop is not maintained.")
    problems = lines(status(shop))[2:5]
    assert problems == ["Problems", "  It is damaged.", "  shop is not maintained."]
    assert Status("/lake", (), (), (), (shop,)).clean


def test_the_status_shows_the_position_of_the_capture() -> None:
    console = screen()
    capture = CaptureStatus("shop", "/landed", problem="its state cannot be read: [Errno 5].")
    show_status(Status("/lake", (), (), (), capture=capture), console)
    assert "Capture of shop into /landed: its state cannot be read: [Errno 5]." in shown(console)


def test_a_source_without_records_of_runs_has_no_last_run() -> None:
    text = status(SourceStatus("shop", None, None, None, None, None, None))
    assert "last run    not recorded" in text
    assert "nothing published yet" in text


def table(
    name: str,
    *,
    held: bool = False,
    complete: bool = True,
    dropped: bool = False,
    drift: int = 0,
    reason: str | None = None,
    remedy: str | None = None,
) -> TableStatus:
    return TableStatus(
        source="erp",
        schema="shop",
        table=name,
        gold=f"/lake/gold/shop/{name}",
        lsn=77,
        faults=int(held),
        held=held,
        complete=complete,
        dropped=dropped,
        named=True,
        reason=reason,
        drift=drift,
        remedy=remedy,
    )


TABLES = (
    table("cups"),
    table("pans", held=True, reason="binlog.000002, position 4711: it cannot be decoded, says [x]"),
    table("pots"),
    table("lids", complete=False, reason="Its CREATE TABLE is not in the log."),
    table("jars", drift=3),
    table("jugs", dropped=True),
)


def test_tables_that_need_attention_come_first_and_equal_ones_are_one_line() -> None:
    console = screen()
    show_status(Status("/lake", (), TABLES, ()), console)
    assert lines(shown(console)) == [
        "Lake /lake",
        "",
        "Tables",
        "held        shop.pans at LSN 77, 1 fault: binlog.000002, position 4711: it",
        "            cannot be decoded, says [x]",
        "incomplete  shop.lids at LSN 77: Its CREATE TABLE is not in the log.",
        "drifted     shop.jars at LSN 77, row differed from the log for 3 changes",
        "equal       to the source, each at its LSN (2): shop.cups, shop.pots",
        "dropped     at the source (1): shop.jugs",
    ]


def test_verbose_lists_every_table_with_its_gold_path() -> None:
    console = screen()
    show_status(Status("/lake", (), TABLES, ()), console, every_table=True)
    text = lines(shown(console))
    for each in TABLES:
        assert f"            {each.gold}" in text
    assert text.index("equal       shop.cups at LSN 77") > text.index(
        "            /lake/gold/shop/jars"
    )


def test_many_equal_tables_are_counted_and_some_are_named() -> None:
    console = screen()
    many = tuple(table(f"t{number}") for number in range(500))
    show_status(Status("/lake", (), many, ()), console)
    text = " ".join(shown(console).split())
    assert "(500): shop.t0, shop.t1," in text
    assert "shop.t9 and 490 more (--verbose lists them)" in text
    assert len(shown(console).splitlines()) < 10


def incomplete(name: str) -> TableStatus:
    remedy = seeding("/my lake", "erp", TableName("shop", name))
    return table(name, complete=False, reason="No CREATE TABLE.", remedy=remedy)


@pytest.mark.parametrize(
    ("tables", "begins", "command"),
    [
        (["cu[p]"], "shop.cu[p] is incomplete: ", " --table 'shop.cu[[]p]' reads its rows"),
        (["cup", "pan"], "shop.cup and 1 more table of erp are incomplete: ", " reads their rows"),
        (
            ["cup", "pan", "pot"],
            "shop.cup and 2 more tables of erp are incomplete: ",
            " reads their rows",
        ),
    ],
)
def test_incomplete_tables_are_problems_with_a_command_on_one_line(
    tables: list[str], begins: str, command: str
) -> None:
    console = screen()
    show_status(Status("/my lake", (), tuple(map(incomplete, tables)), ()), console)
    seed = f"  {begins}binlake seed --source erp --lake '/my lake'{command} from the server,"
    assert f"{seed} and binlake run loads them." in shown(console).splitlines()
