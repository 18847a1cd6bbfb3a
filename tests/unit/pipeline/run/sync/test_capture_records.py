"""Captures of a sync in the runs' records and at the webhook, in a real lake without Spark."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from pipeline.errors import SettingsError
from pipeline.lake.ledger.run_record import ReportedProblem, RunRecord
from pipeline.lake.ledger.run_store import read_runs
from pipeline.observe.progress import QuietProgress
from pipeline.run.sync import capture_thread, command, rounds
from pipeline.run.sync.capture_records import CaptureRecords
from pipeline.run.sync.capture_thread import CaptureThread
from pipeline.run.sync.chores import Chores
from pipeline.settings import Settings
from pipeline.settings.monitoring import NotifySettings
from pipeline.source.capture.errors import FolderInUseError, LostConnectionError, PurgedError
from tests.support.observe.captured_log import LogRecords
from tests.support.observe.receiver import Receiver, receiver
from tests.support.spark.no_spark import NEVER_STARTED

PURGED = PurgedError(file="binlog.000001", position=4, first="binlog.000009", folder="/logs")
FAILED = ReportedProblem("capture", "failed", "PurgedError")


class Syncs:
    """Processes, one after the other, that sync a lake in a folder."""

    def __init__(self, folder: Path, url: str) -> None:
        self.settings = Settings.load(
            None,
            source="shop",
            lake=str(folder / "lake"),
            server="mysql://me@db",
            capture={"to": str(folder / "logs")},
            notify={"url": f"{url}/hook"},
        )
        self.records = CaptureRecords(NEVER_STARTED, self.settings)

    def start(self) -> None:
        """Start another process: it knows only what the lake has."""
        self.records = CaptureRecords(NEVER_STARTED, self.settings)

    def fail(self, error: Exception = PURGED) -> None:
        with suppress(type(error)), self.records.failures():
            raise error

    @property
    def runs(self) -> list[RunRecord]:
        """The records, the latest first."""
        return read_runs(NEVER_STARTED, self.settings.layout)


@pytest.fixture
def server() -> Iterator[Receiver]:
    with receiver() as kept:
        yield kept


@pytest.fixture
def syncs(tmp_path: Path, server: Receiver) -> Syncs:
    return Syncs(tmp_path, server.url)


def test_a_failed_capture_is_recorded_and_sent_and_so_is_the_next_that_works(
    syncs: Syncs, server: Receiver, log: LogRecords
) -> None:
    assert not syncs.records.works()
    assert syncs.runs == []
    syncs.fail()
    (failed,) = syncs.runs
    assert (failed.command, failed.layers, failed.outcome) == ("capture", ("capture",), "failed")
    assert (failed.exit_code, failed.error_type) == (PURGED.exit_code, "PurgedError")
    assert failed.notified == (FAILED,)
    assert [line["error"] for line in log.of("run_failed")] == [str(PURGED)]
    syncs.start()
    syncs.fail()
    (sent,) = server.bodies
    assert (sent["event"], sent["run_id"], sent["well"]) == ("problem", failed.run_id, False)
    assert sent["text"].startswith("shop: capture failed in capture: ")
    syncs.start()
    assert syncs.records.works()
    assert (syncs.runs[0].outcome, syncs.runs[0].notified) == ("done", ())
    assert (server.bodies[1]["event"], server.bodies[1]["well"]) == ("resolved", True)
    assert "capture works again" in server.bodies[1]["text"]
    assert [line["message"] for line in log.of("cleared")] == ["The capture works again."]
    for _ in range(2):
        assert not syncs.records.works()
        syncs.start()
    assert (len(syncs.runs), len(server.bodies)) == (3, 2)


def test_a_failure_of_another_process_is_over_too_while_the_capture_works(
    syncs: Syncs, server: Receiver, log: LogRecords
) -> None:
    assert not syncs.records.works()
    first = syncs.records
    syncs.start()
    syncs.fail()
    assert first.works()
    assert [body["event"] for body in server.bodies] == ["problem", "resolved"]


def test_the_end_of_a_failure_is_sent_until_the_webhook_accepts_it(
    syncs: Syncs, server: Receiver, log: LogRecords
) -> None:
    syncs.fail()
    server.status = 503
    assert [syncs.records.works(), syncs.records.works()] == [True, True]
    assert [run.outcome for run in syncs.runs] == ["done", "failed"]
    assert syncs.runs[0].notified == (FAILED,)
    server.status = 200
    assert [syncs.records.works(), syncs.records.works()] == [True, False]
    assert syncs.runs[0].notified == ()
    assert [body["event"] for body in server.bodies] == ["problem"] + ["resolved"] * 3


def test_the_end_of_a_failure_is_sent_once_the_lake_can_be_read_again(
    syncs: Syncs, server: Receiver, monkeypatch: pytest.MonkeyPatch, log: LogRecords
) -> None:
    def unreadable(*_: object) -> None:
        raise OSError("the store is away")

    syncs.fail()
    with monkeypatch.context() as away:
        away.setattr("pipeline.run.monitoring.monitor.read_source_state", unreadable)
        assert [syncs.records.works(), syncs.records.works()] == [True, True]
    assert [run.notified for run in syncs.runs] == [None, (FAILED,)]
    assert [syncs.records.works(), syncs.records.works()] == [True, False]
    syncs.fail()
    assert [body["event"] for body in server.bodies] == ["problem", "resolved", "problem"]


def test_a_webhook_that_is_no_longer_set_is_not_called_again_and_again(
    syncs: Syncs, server: Receiver, log: LogRecords
) -> None:
    syncs.fail()
    server.status = 503
    assert syncs.records.works()
    syncs.settings = syncs.settings.model_copy(update={"notify": NotifySettings()})
    syncs.start()
    assert not syncs.records.works()


def test_a_folder_that_another_process_captures_into_is_no_failure_of_the_source(
    syncs: Syncs, server: Receiver
) -> None:
    syncs.fail(FolderInUseError("/logs"))
    assert (syncs.runs, server.bodies) == ([], [])


class FakeCapture:
    """A capture that fails at once, or runs until it is stopped."""

    error: Exception | None = PURGED
    answered = False

    def __init__(self, *_: object, **__: object) -> None:
        self.follows = self.answered
        self.interrupted_by: Exception | None = None
        self.interrupted_at = 0.0
        self._stopped = threading.Event()

    def run(self) -> None:
        if self.error is not None:
            raise self.error
        assert self._stopped.wait(10)

    def stop(self) -> None:
        self._stopped.set()


def test_a_capture_beside_the_rounds_is_well_only_once_the_server_answers_it(
    syncs: Syncs, monkeypatch: pytest.MonkeyPatch, log: LogRecords
) -> None:
    monkeypatch.setattr(capture_thread, "Capture", FakeCapture)
    first = CaptureThread(syncs.settings, syncs.records)
    first.tend()
    with pytest.raises(PurgedError):
        first.end()
    assert [run.outcome for run in syncs.runs] == ["failed"]
    monkeypatch.setattr(FakeCapture, "error", None)
    syncs.start()
    second = CaptureThread(syncs.settings, syncs.records)
    second.tend()
    assert not second.record_state()
    assert second._capture is not None
    second._capture.follows = True
    assert second.record_state()
    assert [run.outcome for run in syncs.runs] == ["done", "failed"]
    second.end()


def test_a_capture_that_stays_disconnected_is_a_failure_until_the_server_answers(
    syncs: Syncs, server: Receiver, monkeypatch: pytest.MonkeyPatch, log: LogRecords
) -> None:
    monkeypatch.setattr(capture_thread, "Capture", FakeCapture)
    monkeypatch.setattr(FakeCapture, "error", None)
    thread = CaptureThread(syncs.settings, syncs.records)
    thread.tend()
    capture: Any = thread._capture
    lost = LostConnectionError("the server has gone away.")

    def recorded(seconds: float | None) -> bool:
        """Record the state of a capture that was interrupted these seconds ago, or not at all."""
        capture.follows = seconds is None
        capture.interrupted_by = None if seconds is None else lost
        capture.interrupted_at = time.monotonic() - (seconds or 0)
        return thread.record_state()

    # A server may restart now and then.
    assert not any(recorded(seconds) for seconds in (None, 59, None, 1, 59))
    assert syncs.runs == []
    assert [recorded(60), recorded(120)] == [True, False]
    assert [(run.outcome, run.error) for run in syncs.runs] == [("failed", str(lost))]
    assert [recorded(None), recorded(None)] == [True, False]
    assert [run.outcome for run in syncs.runs] == ["done", "failed"]
    assert [body["event"] for body in server.bodies] == ["problem", "resolved"]
    thread.end()


@pytest.mark.parametrize("continuous", [True, False])
def test_a_sync_that_its_capture_ends_leaves_a_record(
    *,
    continuous: bool,
    syncs: Syncs,
    server: Receiver,
    monkeypatch: pytest.MonkeyPatch,
    log: LogRecords,
) -> None:
    wrong = SettingsError("is the server's own.", key="capture.server_id")

    def fails(*_: object, **__: object) -> None:
        raise wrong

    monkeypatch.setattr(rounds, "spark_for", lambda *_, **__: NEVER_STARTED)
    monkeypatch.setattr(command, "capture_logs", fails)
    monkeypatch.setattr(capture_thread, "Capture", fails)
    sync = partial(command.continuously, captures=True) if continuous else command.once
    with pytest.raises(SettingsError) as raised:
        sync(syncs.settings, QuietProgress(), lambda _: None)
    assert raised.value is wrong
    assert [run.error_type for run in syncs.runs] == ["SettingsError"]
    assert [body["event"] for body in server.bodies] == ["problem"]


class EachOnce(Chores):
    """Chores that are carried out once each, in their order."""

    def run(self) -> None:
        for chore in self._chores:
            chore.work()


def test_a_continuous_sync_looks_whether_its_capture_works_again(
    syncs: Syncs, monkeypatch: pytest.MonkeyPatch, log: LogRecords
) -> None:
    syncs.fail()
    monkeypatch.setattr(rounds, "spark_for", lambda *_, **__: NEVER_STARTED)
    monkeypatch.setattr(command, "Chores", EachOnce)
    monkeypatch.setattr(capture_thread, "Capture", FakeCapture)
    monkeypatch.setattr(FakeCapture, "error", None)
    monkeypatch.setattr(FakeCapture, "answered", True)
    command.continuously(syncs.settings, QuietProgress(), lambda _: None, captures=True)
    assert [run.outcome for run in syncs.runs] == ["done", "failed"]
