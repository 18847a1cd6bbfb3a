"""Records of rounds: none without news, and each problem once until it is gone."""

from __future__ import annotations

from functools import partial
from types import SimpleNamespace
from typing import Any

import pytest

from pipeline.errors import UnreachableError
from pipeline.lake.ledger.run_record import RunRecord
from pipeline.observe import LayerReport
from pipeline.observe.progress import QuietProgress
from pipeline.run import commands
from pipeline.run.sync.round_recorder import Reported, RoundRecorder
from pipeline.settings import Settings
from tests.support.observe.captured_log import LogRecords

SPARK: Any = SimpleNamespace(version="4.2.0", conf={})
SETTINGS = Settings.load(None, source="shop", lake="/lake")
IDLE = LayerReport("gold", notes=("binlog.index is skipped",))
WORKED = LayerReport("gold", (4,), {"shop.orders": 9}, notes=IDLE.notes)
QUARANTINED = LayerReport("silver", (4,), faults=("binlog.000001, position 4: why.",))
HELD = LayerReport("gold", faults=("shop.orders is held: why.",), notes=IDLE.notes)


def rounds(monkeypatch: pytest.MonkeyPatch, *reports: LayerReport | Exception) -> list[int]:
    """Carry out a round for each report; return their exit codes."""
    make = partial(RoundRecorder, Reported())
    codes = []
    for report in reports:

        def job(*_: object, report: LayerReport | Exception = report) -> LayerReport:
            if isinstance(report, Exception):
                raise report
            return report

        monkeypatch.setattr(commands, "COMMANDS", {"run": {"gold": job}})
        try:
            done, _ = commands.recorded_run(SPARK, SETTINGS, QuietProgress(), "run", make)
        except UnreachableError:
            codes.append(1)
        else:
            codes.append(commands.exit_code(done))
    return codes


@pytest.mark.parametrize(
    ("reports", "recorded", "logged"),
    [
        ([WORKED, IDLE, IDLE], ["done"], ["note", "run_finished"]),
        ([IDLE, WORKED], ["nothing_new", "done"], ["note", "run_finished", "run_finished"]),
        (
            [HELD, HELD, HELD],
            ["faults"],
            ["fault", "note", "run_finished"],
        ),
        (
            [HELD, WORKED, HELD],
            ["faults", "done", "faults"],
            [
                *("fault", "note", "run_finished"),
                *("cleared", "run_finished"),
                *("fault", "run_finished"),
            ],
        ),
    ],
    ids=["idle", "notes are news once", "held", "released and held again"],
)
def test_what_rounds_record_and_log(
    reports: list[LayerReport],
    recorded: list[str],
    logged: list[str],
    monkeypatch: pytest.MonkeyPatch,
    log: LogRecords,
    kept: list[RunRecord],
) -> None:
    codes = rounds(monkeypatch, *reports)
    assert [record.outcome for record in kept] == recorded
    assert [line["event"] for line in log.lines] == logged
    assert codes == [0 if report.clean else 3 for report in reports]


def test_a_round_that_fails_is_recorded_each_time_and_so_is_the_first_after_it(
    monkeypatch: pytest.MonkeyPatch, log: LogRecords, kept: list[RunRecord]
) -> None:
    gone = UnreachableError("It does not answer.", key="lake")
    assert rounds(monkeypatch, WORKED, gone, gone, IDLE, IDLE) == [0, 1, 1, 0, 0]
    assert [record.outcome for record in kept] == ["done", "failed", "failed", "nothing_new"]
    assert len(log.of("run_failed")) == 2


def test_what_silver_could_not_decode_is_not_logged_as_resolved_by_the_next_round(
    monkeypatch: pytest.MonkeyPatch, log: LogRecords, kept: list[RunRecord]
) -> None:
    rounds(monkeypatch, QUARANTINED, LayerReport("silver"))
    assert len(log.of("fault")) == 1
    assert not log.of("cleared")


def test_what_a_round_has_found_before_it_fails_is_logged(
    monkeypatch: pytest.MonkeyPatch, log: LogRecords, kept: list[RunRecord]
) -> None:
    """Silver's faults are in no later report."""
    make = partial(RoundRecorder, Reported())

    def fail(*_: object) -> LayerReport:
        raise UnreachableError("It does not answer.", key="lake")

    jobs = {"silver": lambda *_: QUARANTINED, "gold": fail}
    monkeypatch.setattr(commands, "COMMANDS", {"run": jobs})
    for _ in range(2):
        with pytest.raises(UnreachableError):
            commands.recorded_run(SPARK, SETTINGS, QuietProgress(), "run", make)
    assert [line["event"] for line in log.lines] == ["fault", "run_failed", "run_failed"]
