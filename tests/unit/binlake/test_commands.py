"""`run`, `status`, `check` and `verify` return what the command line prints with `--json`."""

from __future__ import annotations

import dataclasses
import sys
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

import pytest

import binlake
from pipeline.cli.app import main
from pipeline.errors import BinlakeError, MissingRequirementError
from pipeline.lake.ledger.ledger import Entry
from pipeline.lake.ledger.run_record import RunRecord
from pipeline.run import commands
from pipeline.run.status import SourceStatus, Status, TableStatus
from pipeline.settings import Settings
from pipeline.source.check.finding import Finding
from pipeline.source.check.report import CheckReport
from pipeline.verify.checksums import TableChecksum
from pipeline.verify.report import Verification

NOW = datetime(2026, 11, 22, 10, tzinfo=timezone.utc)
RECORD = RunRecord("r", "shop", "run", ("bronze",), NOW, NOW, "done", 0)
STATUS = Status(
    "/lake",
    (Entry("shop", "gold", 4, "finished", "r", NOW),),
    (TableStatus("shop", "shop", "t", "/lake/gold/shop/t", 7, 0, False, True, False, True, None),),
    ("a gap",),
    (SourceStatus("shop", 7, NOW, NOW, 0.0, 1.0, None),),
)
REPORT = CheckReport("MySQL 9.7", "db:3306", "me", (Finding("log_bin", "ON", "ok", "it logs"),))
FOUND = Verification(
    "/lake", "shop", 7, None, (TableChecksum("shop", "t", 1, "ab", 3, False, True, False),)
)


def printed(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], *command: str
) -> str:
    """A command's output."""
    monkeypatch.setattr(sys, "argv", ["binlake", *command])
    with pytest.raises(SystemExit) as ended:
        main()
    assert ended.value.code in (0, 3)
    return capsys.readouterr().out.rstrip("\n")


@pytest.fixture
def lake(tmp_path: Path) -> str:
    """A folder that a run has begun."""
    (tmp_path / "lake" / "ledger").mkdir(parents=True)
    return str(tmp_path / "lake")


@pytest.fixture(autouse=True)
def no_spark(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("session", "spark_for"):
        monkeypatch.setattr(f"pipeline.spark.session.{name}", lambda *_, **__: None)


def test_status(
    lake: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("pipeline.run.status.read_status", lambda *_: STATUS)
    found = binlake.status(lake)
    assert found == STATUS
    assert printed(monkeypatch, capsys, "status", "--lake", lake, "--json") == found.to_json()


@pytest.mark.parametrize(
    "result",
    [RECORD, STATUS, STATUS.tables[0], REPORT, REPORT.findings[0], FOUND, FOUND.tables[0]],
    ids=lambda result: type(result).__name__,
)
def test_results_are_frozen(result: Any) -> None:
    for field in dataclasses.fields(result):
        with pytest.raises(dataclasses.FrozenInstanceError):
            setattr(result, field.name, None)


def test_a_lake_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(binlake.SettingsError, match="there is no lake in") as raised:
        binlake.status(tmp_path / "none")
    assert (raised.value.key, raised.value.exit_code) == ("lake", 2)
    assert isinstance(raised.value, BinlakeError)


def test_check(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    asked: list[str | None] = []

    def check_server(settings: Settings) -> CheckReport:
        asked.append(settings.server.url)
        return REPORT

    monkeypatch.setattr("pipeline.source.check.run.check_server", check_server)
    found = binlake.check(server="mysql://me@db")
    shown = printed(monkeypatch, capsys, "check", "--server", "mysql://me@db", "--json")
    assert shown == found.to_json()
    assert asked == ["mysql://me@db"] * 2


@pytest.mark.parametrize("against", [None, "server", "mysql://me@db", "~/shop.jsonl.gz"])
def test_verify(
    lake: str,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    against: str | None,
) -> None:
    asked: list[Any] = []

    def by_file(_spark: object, settings: Settings, **given: Any) -> Verification:
        asked.append((given["tables"], given["against"], settings.server.url))
        return FOUND

    def by_server(_spark: object, settings: Settings, *_: object, **given: Any) -> Verification:
        asked.append((given["tables"], given["patience"], settings.server.url))
        return FOUND

    monkeypatch.setattr("pipeline.verify.run.verify", by_file)
    monkeypatch.setattr("pipeline.verify.run.verify_with_server", by_server)
    monkeypatch.setattr("pipeline.verify.run.with_source", lambda _, settings: settings)
    monkeypatch.setattr("pipeline.run.commands.require_source", lambda *_: None)
    found = binlake.verify(lake, against=against, tables=("shop.*",), wait=7)
    options = ["--lake", lake, "--table", "shop.*", "--wait", "7", "--json"]
    options += ["--against", against] if against else []
    assert printed(monkeypatch, capsys, "verify", *options) == found.to_json()
    expected = {
        None: (None, None),
        "server": (7, None),
        "mysql://me@db": (7, "mysql://me@db"),
        "~/shop.jsonl.gz": (str(Path.home() / "shop.jsonl.gz"), None),
    }[against]
    assert asked == [(("shop.*",), *expected)] * 2


def test_sync_returns_the_record_of_its_run(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[tuple[str, str]] = []

    def once(settings: Settings, *_: object) -> tuple[int, RunRecord]:
        asked.append((settings.source, settings.capture.to))
        return 0, RECORD

    monkeypatch.setattr("pipeline.run.sync.command.once", once)
    assert binlake.sync(source="shop", capture={"to": "/logs"}) is RECORD
    assert asked == [("shop", "/logs")]


def test_run_returns_its_record(lake: str, monkeypatch: pytest.MonkeyPatch) -> None:
    done: list[tuple[str, str]] = []

    def recorded_run(_spark: object, settings: Settings, _progress: object, command: str) -> Any:
        done.append((settings.source, command))
        return [], RECORD if settings.source == "shop" else None

    session = "pipeline.run.operations.session_for"
    monkeypatch.setattr(session, lambda _, settings, __: (None, settings))
    monkeypatch.setattr(commands, "recorded_run", recorded_run)
    assert binlake.run(lake=lake, source="shop") == RECORD
    assert binlake.run(Settings(source="shop"), full_refresh=True) is RECORD
    assert done == [("shop", "run"), ("shop", "run --full-refresh")]
    with pytest.raises(BinlakeError, match="record_not_written"):
        binlake.run(lake=lake, source="other")


def test_a_spark_that_is_needed_and_not_installed_is_a_missing_requirement(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    def missing(*_: object) -> None:
        raise ModuleNotFoundError("No module named 'pyspark'", name="pyspark")

    monkeypatch.setattr("pipeline.run.preflight.require_lake", missing)
    with pytest.raises(MissingRequirementError, match="Spark is not installed"):
        binlake.status(lake=str(tmp_path), source="shop")
