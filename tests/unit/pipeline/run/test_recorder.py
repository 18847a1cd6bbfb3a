"""Log lines and record of a run; a record that fails does not change the run."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime, timedelta, timezone
from types import SimpleNamespace
from typing import Any

import pytest

from decoder import BinlogError
from pipeline.errors import ConcurrentRunError, LakeLostError
from pipeline.lake.lazy_spark import StartingSpark, started
from pipeline.lake.ledger import run_store as store
from pipeline.lake.ledger.run_record import RunRecord
from pipeline.lake.locks.lease import LeaseState, checked_before_commits, require_held
from pipeline.observe import LayerReport
from pipeline.observe.current_run import FinishedBatch, under_way
from pipeline.observe.progress import QuietProgress
from pipeline.observe.report import NewestFile
from pipeline.run import commands as runs, recorder, run_command
from pipeline.settings import Settings
from tests.support.observe.captured_log import LogRecords

SPARK: Any = SimpleNamespace(version="4.2.0", conf={"spark.app.id": "app-1"})
SECRET = "0123456789abcdef" * 4
SETTINGS = Settings.load(
    None, source="shop", lake="/lake", encryption={"passwords": {"log.000001": SECRET}}
)
BRONZE = LayerReport("bronze", (4,), {"files": 1}, notes=("log.index is left out.",), seconds=1.25)


@pytest.fixture
def jobs(monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    """The layers of `binlake run`: bronze finishes a batch, the others have nothing to do."""

    def bronze(*_: object) -> LayerReport:
        run = under_way()
        assert run is not None
        record = {"files": 1, "bytes": 9, "segments": 1, "events": {"XID": 2}}
        run.finished.append(FinishedBatch("bronze", 4, "before", record))
        return BRONZE

    made: dict[str, Any] = {"bronze": bronze}
    for layer in ("silver", "gold"):
        made[layer] = lambda *_, layer=layer: LayerReport(layer)
    monkeypatch.setattr(runs, "COMMANDS", {"run": made, "apply": {"gold": made["gold"]}})
    return made


def run(command: str = "run") -> list[LayerReport]:
    return run_command(SPARK, SETTINGS, QuietProgress(), command)


def raising(error: BaseException) -> Any:
    def job(*_: object) -> LayerReport:
        raise error

    return job


def test_a_run_is_logged_from_start_to_end_and_recorded(
    log: LogRecords, kept: list[RunRecord], jobs: Any
) -> None:
    assert run()[0] == BRONZE
    (record,) = kept
    assert (record.outcome, record.exit_code, record.command) == ("done", 0, "run")
    assert (record.layers, record.layer_seconds["bronze"]) == (("bronze", "silver", "gold"), 1.25)
    assert (record.files, record.events_by_type) == (1, {"XID": 2})
    assert record.batches[0].planned_by == "before"
    assert (record.spark_version, record.spark_application) == ("4.2.0", "app-1")
    assert [line["event"] for line in log.lines] == [
        *("run_started", "layer_started", "note", "layer_finished"),
        *("layer_started", "layer_finished") * 2,
        "run_finished",
    ]
    assert {line["run_id"] for line in log.lines} == {record.run_id}
    (end,) = log.of("run_finished")
    assert (end["outcome"], end["bytes"], end["note_count"]) == ("done", 9, 1)
    assert under_way() is None


def test_a_run_that_found_nothing_says_how_old_the_newest_file_is(
    log: LogRecords, kept: list[RunRecord], jobs: Any
) -> None:
    newest = NewestFile("log.000007", datetime.now(timezone.utc) - timedelta(hours=3))
    jobs["bronze"] = lambda *_: LayerReport("bronze", newest=newest)
    run()
    (end,) = log.of("run_finished")
    assert end["message"] == (
        "run finished: nothing new; the newest file, log.000007, is 3 h 0 min old"
    )
    assert (end["newest_file"], end["newest_file_at"]) == ("log.000007", newest.written_at)
    assert (kept[0].newest_file, kept[0].newest_file_at) == ("log.000007", newest.written_at)


def test_a_signal_during_monitoring_leaves_a_record(
    log: LogRecords, kept: list[RunRecord], jobs: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(recorder.Monitor, "ended", raising(KeyboardInterrupt()))
    with pytest.raises(KeyboardInterrupt):
        run()
    assert [record.outcome for record in kept] == ["done"]
    assert len(log.of("run_finished")) == 1


def test_a_run_that_fails_after_spark_started_records_its_version(
    log: LogRecords, kept: list[RunRecord], jobs: Any
) -> None:
    spark = StartingSpark(lambda: SPARK, "local[2]")

    def gold(*_: object) -> LayerReport:
        started(spark)
        raise BinlogError("it is damaged")

    jobs["gold"] = gold
    with pytest.raises(BinlogError):
        run_command(spark, SETTINGS, QuietProgress(), "run")
    assert (kept[0].spark_version, kept[0].spark_application) == ("4.2.0", "app-1")
    assert "spark_version" not in log.of("run_started")[0]


def test_a_single_layer_with_nothing_to_do_is_a_run(
    log: LogRecords, kept: list[RunRecord], jobs: Any
) -> None:
    run("apply")
    assert [(r.command, r.outcome, r.layers) for r in kept] == [("apply", "nothing_new", ("gold",))]


@pytest.mark.parametrize(("tables", "outcome"), [(0, "nothing_new"), (2, "done")])
def test_work_without_batches_counts_as_done(
    log: LogRecords, kept: list[RunRecord], jobs: Any, tables: int, outcome: str
) -> None:
    for layer in jobs:
        jobs[layer] = lambda *_: LayerReport("seed", counts={"tables": tables, "rows": 0})
    run()
    assert [record.outcome for record in kept] == [outcome]


def test_faults_and_gaps_are_recorded_with_exit_code_3(
    log: LogRecords, kept: list[RunRecord], jobs: Any
) -> None:
    faults = tuple(f"fault {n}" for n in range(recorder.KEPT + 5))
    report = LayerReport("gold", faults=faults, gaps=(f"a file that {SECRET} opens",))
    jobs["gold"] = lambda *_: report
    run()
    (record,) = kept
    assert (record.outcome, record.exit_code) == ("faults", 3)
    assert (record.fault_count, len(record.faults)) == (len(faults), recorder.KEPT)
    assert (record.gaps[0].layer, record.gaps[0].sentence) == ("gold", "a file that *** opens")
    assert [line["levelname"] for line in log.of("fault")] == ["WARNING"] * len(faults)
    assert log.of("run_finished")[0]["levelname"] == "WARNING"


@pytest.mark.parametrize(
    ("error", "code", "retryable", "trace"),
    [
        (ConcurrentRunError(f"Busy with {SECRET}."), 1, True, False),
        (BinlogError(f"Damaged by {SECRET}."), 1, None, False),
        (ValueError(f"odd {SECRET}"), 1, None, True),
        (KeyboardInterrupt(), 130, None, False),
    ],
)
def test_an_error_that_ends_a_run_is_recorded_and_raised(
    log: LogRecords,
    kept: list[RunRecord],
    jobs: Any,
    error: BaseException,
    code: int,
    retryable: bool | None,
    trace: bool,
) -> None:
    jobs["silver"] = raising(error)
    with pytest.raises(type(error)) as raised:
        run()
    assert raised.value is error
    (record,) = kept
    outcome, level = ("interrupted", "WARNING") if code == 130 else ("failed", "ERROR")
    assert (record.outcome, record.exit_code, record.retryable) == (outcome, code, retryable)
    assert record.error_type == type(error).__name__
    assert record.error
    assert SECRET not in record.error
    assert (record.files, list(record.layer_seconds)) == (1, ["bronze"])
    (line,) = log.of("run_failed")
    assert (line["levelname"], line["error"], bool(line["exc_text"])) == (
        *(level, record.error),
        trace,
    )


def test_a_run_that_lost_the_lease_has_failed(
    log: LogRecords, kept: list[RunRecord], jobs: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It may not write its record either, since another run holds the lake."""
    settings = SETTINGS.model_copy(update={"lake": "s3a://bucket/lake"})
    append = recorder.append_run

    def commit(spark: Any, lake: Any, record: RunRecord) -> None:
        require_held(store.runs(lake).reference)
        append(spark, lake, record)

    @contextmanager
    def lost(lake: str, _conf: object) -> Iterator[None]:
        with checked_before_commits(LeaseState(lake, 30, lost=True)):
            yield

    monkeypatch.setattr(recorder, "append_run", commit)
    monkeypatch.setattr(runs, "only_writer", lost)
    with pytest.raises(LakeLostError):
        run_command(SPARK, settings, QuietProgress(), "run")
    (line,) = log.of("run_failed")
    assert (line["outcome"], line["exit_code"], line["retryable"]) == ("failed", 1, True)
    assert "lost the lease of s3a://bucket/lake" in line["error"]
    assert kept == []
    assert len(log.of("record_not_written")) == 1
    assert not log.of("run_finished")


@pytest.mark.parametrize(
    ("error", "text", "exit_code"),
    [
        (ConnectionError("gone"), "ConnectionError: gone", 1),
        (KeyboardInterrupt(), "Interrupted:", 130),
    ],
)
@pytest.mark.parametrize("where", ["only_writer", "Recorder"])
def test_an_error_before_the_recorder_exists_is_logged(
    log: LogRecords,
    kept: list[RunRecord],
    jobs: Any,
    monkeypatch: pytest.MonkeyPatch,
    where: str,
    error: BaseException,
    text: str,
    exit_code: int,
) -> None:
    """In a scheduler, the log is all that people read."""
    monkeypatch.setattr(runs, where, raising(error))
    with pytest.raises(type(error)):
        run()
    (line,) = log.of("run_failed")
    assert line["error"].startswith(text)
    assert line["exit_code"] == exit_code
    assert kept == []


def test_a_record_that_cannot_be_written_is_a_warning(
    log: LogRecords, jobs: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(recorder, "append_run", raising(OSError(f"no space for {SECRET}")))
    assert run()[0] == BRONZE
    jobs["gold"] = raising(ValueError("odd"))
    with pytest.raises(ValueError, match="odd"):
        run()
    warning = "the run's record was not written: OSError: no space for ***"
    assert [line["message"] for line in log.of("record_not_written")] == [warning] * 2
    assert len(log.of("run_finished")) == len(log.of("run_failed")) == 1


def test_a_killed_run_leaves_no_record(log: LogRecords, kept: list[RunRecord], jobs: Any) -> None:
    jobs["silver"] = raising(GeneratorExit())
    with pytest.raises(GeneratorExit):
        run()
    assert kept == []
