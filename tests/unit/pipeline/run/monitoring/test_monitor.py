"""Runs that report to monitoring, in a real lake without Spark: once each, and never in the way."""

from __future__ import annotations

import json
import signal
import sys
import time
import uuid
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from pipeline.errors import Interrupted, UnreachableError
from pipeline.lake.ledger.run_record import ReportedProblem, RunRecord
from pipeline.lake.ledger.run_store import read_runs
from pipeline.observe import LayerReport
from pipeline.observe.progress import QuietProgress
from pipeline.run import commands as runs
from pipeline.run.monitoring import monitor
from pipeline.run.monitoring.monitor import MonitoringTimeoutError, within
from pipeline.settings import Settings
from tests.support.observe.captured_log import captured_log
from tests.support.observe.receiver import Receiver, receiver
from tests.support.spark.no_spark import NEVER_STARTED

GAP = "1 file is missing between a and b: copy it."


@pytest.fixture
def server() -> Iterator[Receiver]:
    with receiver() as kept:
        yield kept


class Runs:
    """Runs of a lake whose layers do nothing: each reports, or raises, what `outcome` says."""

    def __init__(self, folder: Path, url: str) -> None:
        self.folder = folder
        self.outcome: dict[str, LayerReport | BaseException] = {}
        self.options: dict[str, Any] = {
            "metrics": {"textfile": str(folder / "binlake.prom")},
            "notify": {"url": f"{url}/hook"},
            "lineage": {"openlineage": str(folder / "events.ndjson")},
        }
        self.log: list[dict[str, Any]] = []

    def job(self, layer: str) -> Callable[..., LayerReport]:
        def run(*_: object) -> LayerReport:
            found = self.outcome.get(layer, LayerReport(layer))
            if isinstance(found, BaseException):
                raise found
            return found

        return run

    def run(self, command: str = "run", **outcome: LayerReport | BaseException) -> RunRecord:
        """Run a command and return its record as the lake has it."""
        self.outcome = outcome
        lake = str(self.folder / "lake")
        settings = Settings.load(None, source="shop", lake=lake, **self.options)
        with captured_log() as lines, suppress(UnreachableError, OSError, KeyboardInterrupt):
            runs.run_command(NEVER_STARTED, settings, QuietProgress(), command)
        self.log = lines.of("monitoring_failed")
        return read_runs(NEVER_STARTED, settings.layout, last=1)[0]

    def metric(self, name: str) -> str | None:
        """Return a metric's value in the textfile."""
        lines = (self.folder / "binlake.prom").read_text().splitlines()
        return next((line.split()[-1] for line in lines if line.startswith(f"{name}{{")), None)

    def events(self) -> list[dict[str, Any]]:
        """Return the lineage events so far."""
        file = self.folder / "events.ndjson"
        return [json.loads(line) for line in file.read_text().splitlines()]


@pytest.fixture
def lake(tmp_path: Path, server: Receiver, monkeypatch: pytest.MonkeyPatch) -> Runs:
    made = Runs(tmp_path, server.url)
    layers = {layer: made.job(layer) for layer in ("bronze", "silver", "gold")}
    monkeypatch.setattr(runs, "COMMANDS", {"run": layers, "ingest": {"bronze": layers["bronze"]}})
    return made


def gap(layer: str) -> LayerReport:
    return LayerReport(layer, gaps=(GAP,))


def test_a_problem_is_sent_once_and_again_when_it_is_over(lake: Runs, server: Receiver) -> None:
    assert lake.run().notified == ()
    assert server.bodies == []
    first = lake.run(bronze=gap("bronze"))
    assert first.notified == (ReportedProblem("bronze", "gap", GAP),)
    lake.run(bronze=gap("bronze"))
    lake.run("ingest", bronze=gap("bronze"))
    (sent,) = server.bodies
    assert (sent["event"], sent["run_id"], sent["text"]) == (
        "problem",
        first.run_id,
        f"shop: {GAP}",
    )
    lost = UnreachableError("the store is down.", key="lake", remedy="Wait.")
    failed = lake.run(silver=lost)
    # Bronze is done: its gap is over, whatever comes later.
    assert failed.notified == (ReportedProblem("silver", "failed", "UnreachableError"),)
    assert (failed.outcome, server.bodies[1]["well"]) == ("failed", False)
    assert [one["kind"] for one in server.bodies[1]["new"] + server.bodies[1]["resolved"]] == [
        *("failed", "gap"),
    ]
    lake.run(silver=lost)
    lake.run("ingest")
    assert len(server.bodies) == 2
    lake.run()
    assert [(one["event"], one["well"]) for one in server.bodies[2:]] == [("resolved", True)]
    lake.run()
    assert len(server.bodies) == 3


def test_a_call_that_is_not_accepted_is_repeated_by_the_next_run(
    lake: Runs, server: Receiver
) -> None:
    server.status = 503
    refused = lake.run(bronze=gap("bronze"))
    assert (refused.notified, refused.outcome, refused.exit_code) == ((), "faults", 3)
    (note,) = refused.notes
    assert note.layer == "monitoring"
    assert "notify: the webhook at 127.0.0.1 answered 503" in note.sentence
    assert [line["message"] for line in lake.log] == [note.sentence]
    server.status = 200
    assert lake.run(bronze=gap("bronze")).notified == (ReportedProblem("bronze", "gap", GAP),)
    server.status = 503
    assert lake.run().notified == (ReportedProblem("bronze", "gap", GAP),)
    server.status = 200
    assert lake.run().notified == ()
    assert [body["event"] for body in server.bodies] == ["problem"] * 2 + ["resolved"] * 2


def test_a_run_without_a_webhook_changes_nothing(lake: Runs, server: Receiver) -> None:
    lake.run(bronze=gap("bronze"))
    notify = lake.options.pop("notify")
    assert lake.run().notified is None
    lake.options["notify"] = notify
    lake.run(bronze=gap("bronze"))
    # Nor does one that a signal ended.
    assert lake.run(bronze=Interrupted(signal.SIGTERM)).notified is None
    lake.run(bronze=gap("bronze"))
    assert len(server.bodies) == 1


def test_a_failed_run_is_recorded_even_if_a_signal_ends_the_wait_for_the_webhook(
    lake: Runs, monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupted(*_: object, **__: object) -> None:
        raise Interrupted(signal.SIGTERM)

    monkeypatch.setattr(monitor, "changes_since", interrupted)
    record = lake.run(gold=OSError("gone"))
    assert (record.outcome, record.error_type) == ("failed", "OSError")


def test_every_run_writes_the_textfile(lake: Runs) -> None:
    first = lake.run()
    assert lake.metric("binlake_last_run_exit_code") == "0.0"
    done = lake.metric("binlake_layer_timestamp_seconds")
    assert float(done or 0) == first.finished_at.timestamp()
    lake.run(bronze=OSError("gone"))
    assert lake.metric("binlake_last_run_exit_code") == "1.0"
    assert lake.metric("binlake_layer_timestamp_seconds") == done
    lake.run("ingest")
    assert lake.metric("binlake_last_run_exit_code") == "0.0"
    assert float(lake.metric("binlake_layer_timestamp_seconds") or 0) > float(done or 0)


def test_lineage_has_events_of_each_layer_with_ids_of_the_run(lake: Runs) -> None:
    record = lake.run(silver=OSError("password=abcdef"))
    events = lake.events()
    assert [(event["eventType"], event["job"]["name"]) for event in events] == [
        *(("START", "shop.bronze"), ("COMPLETE", "shop.bronze")),
        *(("START", "shop.silver"), ("FAIL", "shop.silver")),
    ]
    parent = uuid.UUID(record.run_id)
    assert {event["run"]["runId"] for event in events} == {
        str(uuid.uuid5(parent, layer)) for layer in ("bronze", "silver")
    }
    facets = events[3]["run"]["facets"]
    assert facets["parent"]["run"]["runId"] == str(parent)
    job = facets["parent"]["job"]
    assert (job["namespace"], job["name"]) == ("binlake", "shop.run")
    assert facets["errorMessage"]["message"] == "OSError: password=***"
    assert events[1]["outputs"][0]["namespace"] == "file"
    assert events[1]["outputs"][0]["name"].endswith("lake/bronze/segments")


def test_an_interrupted_layer_is_aborted(lake: Runs, monkeypatch: pytest.MonkeyPatch) -> None:
    record = lake.run(gold=KeyboardInterrupt())
    assert record.outcome == "interrupted"
    assert [event["eventType"] for event in lake.events()[-2:]] == ["START", "ABORT"]


def test_lineage_is_posted_to_a_server_with_its_key(
    lake: Runs, server: Receiver, monkeypatch: pytest.MonkeyPatch
) -> None:
    lake.options["lineage"] = {"openlineage": server.url, "namespace": "etl"}
    monkeypatch.setenv("OPENLINEAGE_API_KEY", "q8Zr7Wv2")
    lake.run("ingest")
    assert server.paths == ["/api/v1/lineage"] * 2
    assert server.headers[0]["Authorization"] == "Bearer q8Zr7Wv2"
    assert [body["job"]["namespace"] for body in server.bodies] == ["etl"] * 2


def test_what_cannot_be_sent_or_written_neither_fails_nor_delays_a_run(
    lake: Runs, server: Receiver
) -> None:
    server.pause = 30
    lake.options = {
        "metrics": {"textfile": str(lake.folder / "gone" / "binlake.prom")},
        "notify": {"url": f"{server.url}/q8Zr7Wv2", "timeout": 0.3},
        "lineage": {"openlineage": server.url, "timeout": 0.3},
    }
    began = time.monotonic()
    record = lake.run(bronze=gap("bronze"))
    assert time.monotonic() - began < 10
    assert record.outcome == "faults"
    assert [line["outlet"] for line in lake.log] == ["lineage", "metrics", "notify"]
    assert [note.layer for note in record.notes] == ["monitoring"] * 3
    assert record.note_count == 3
    assert "q8Zr7Wv2" not in record.to_json()


@pytest.mark.parametrize(
    ("package", "outlet"), [("prometheus_client", "metrics"), ("openlineage.client", "lineage")]
)
def test_a_missing_package_is_reported_by_each_run(
    lake: Runs, monkeypatch: pytest.MonkeyPatch, package: str, outlet: str
) -> None:
    monkeypatch.setitem(sys.modules, package, None)
    assert lake.run().outcome == "nothing_new"
    assert [line["outlet"] for line in lake.log] == [outlet]
    assert f"pip install 'binlake[{outlet}]'" in lake.log[0]["message"]


def test_a_lake_that_cannot_be_read_is_reported_and_the_failure_is_still_sent(
    lake: Runs, server: Receiver, monkeypatch: pytest.MonkeyPatch
) -> None:
    def unreadable(*_: object) -> None:
        raise UnreachableError("the store is down.", key="lake")

    lake.run(bronze=gap("bronze"))
    with monkeypatch.context() as patch:
        patch.setattr(monitor, "read_source_state", unreadable)
        failed = lake.run(gold=OSError("gone"))
    assert [line["outlet"] for line in lake.log] == ["metrics"]
    assert [one["subject"] for one in server.bodies[1]["new"]] == ["OSError"]
    # The problems already sent are still in the previous record.
    assert failed.notified is None
    lake.run()
    assert [one["subject"] for one in server.bodies[2]["resolved"]] == [GAP]


def test_a_step_that_takes_too_long_is_left_behind() -> None:
    assert within(5, lambda: 7) == 7
    with pytest.raises(MonitoringTimeoutError, match=r"gave up after 0.05 s"):
        within(0.05, lambda: time.sleep(1))
    with pytest.raises(TimeoutError, match="its own"):
        within(5, lambda: (_ for _ in ()).throw(TimeoutError("its own")))
