"""How a command ends that does not come to a run: the line, the exit code, and no secrets."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

import pytest

from pipeline import cli, cli_runs, spark as starting
from pipeline.errors import INTERRUPTED_SENTENCE, MissingRequirementError
from pipeline.report import LayerReport
from pipeline.run import COMMANDS
from pipeline.settings import Settings
from pipeline.source_status import LastRun, SourceStatus
from pipeline.status import Status
from tests.support.said_lines import listening

SECRET = "0123456789abcdef" * 4


@pytest.fixture(autouse=True)
def as_before() -> Iterator[None]:
    """The logger is the process's: what a command sets up is taken back."""
    with listening():
        yield


@pytest.fixture
def conf(tmp_path: Path) -> Path:
    """Settings with a secret, and JSON lines."""
    file = tmp_path / "conf.yml"
    lake = tmp_path / "lake"
    passwords = f"encryption:\n  passwords:\n    log.000001: '{SECRET}'\n"
    file.write_text(f"lake: {lake}\nbinlogs: {tmp_path}\n{passwords}")
    return file


def ended(monkeypatch: pytest.MonkeyPatch, *command: str) -> int:
    """What `binlake COMMAND` exits with."""
    monkeypatch.setattr(sys, "argv", ["binlake", *command])
    with pytest.raises(SystemExit) as exit_:
        cli.main()
    assert isinstance(exit_.value.code, int)
    return exit_.value.code


def not_starting(monkeypatch: pytest.MonkeyPatch, error: BaseException) -> None:
    def session(*_: object) -> Any:
        raise error

    monkeypatch.setattr(starting, "session", session)


@pytest.mark.parametrize(
    ("error", "code", "trace", "said"),
    [
        (RuntimeError(f"no port for {SECRET}"), 1, True, "RuntimeError: no port for ***"),
        (MissingRequirementError(f"no {SECRET}."), 1, False, "no ***."),
        (KeyboardInterrupt(), 130, False, INTERRUPTED_SENTENCE),
    ],
)
def test_what_stops_spark_from_starting_is_a_line(
    conf: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    error: BaseException,
    code: int,
    trace: bool,
    said: str,
) -> None:
    not_starting(monkeypatch, error)
    conf.write_text(f"{conf.read_text()}log: json\n")
    assert ended(monkeypatch, "run", "--conf", str(conf)) == code
    shown = capsys.readouterr()
    (line,) = map(json.loads, shown.err.splitlines())
    assert (line["event"], line["exit_code"], line["message"]) == ("failed", code, said)
    assert ("exc_info" in line) is trace
    assert SECRET not in shown.err
    assert shown.out == ""


def test_in_text_what_is_odd_has_its_stack_trace_without_secrets(
    conf: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    not_starting(monkeypatch, RuntimeError(f"no port for {SECRET}"))
    assert ended(monkeypatch, "runs", "--conf", str(conf)) == 1
    told = capsys.readouterr().err
    assert told.startswith("Traceback")
    assert told.endswith("RuntimeError: no port for ***\n")
    not_starting(monkeypatch, MissingRequirementError(f"no {SECRET}."))
    assert ended(monkeypatch, "runs", "--conf", str(conf)) == 1
    assert capsys.readouterr().err == "binlake: no ***.\n"


def test_a_lake_with_nothing_in_it_is_none_and_one_whose_first_run_failed_has_that(
    conf: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(starting, "session", lambda *_: None)
    monkeypatch.setattr("pipeline.status.read_status", lambda *_: Status("/lake", (), (), ()))
    assert ended(monkeypatch, "status", "--conf", str(conf)) == 2
    assert "there is no lake in this folder" in capsys.readouterr().err
    now = datetime.now(timezone.utc)
    last = LastRun("r", "run", now, now, "failed", 1, "no log.")
    shop = SourceStatus("shop", None, None, None, None, None, last)
    failed = Status("/lake", (), (), ("shop: no run has brought anything yet.",), (shop,))
    monkeypatch.setattr("pipeline.status.read_status", lambda *_: failed)
    assert ended(monkeypatch, "status", "--json", "--conf", str(conf)) == 0
    told = json.loads(capsys.readouterr().out)
    assert told["sources"][0]["last_run"]["error"] == "no log."
    assert ended(monkeypatch, "status", "--check", "--conf", str(conf)) == 3


def test_maintenance_is_a_run_like_others_and_its_dry_run_is_none(
    conf: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    done: list[object] = []

    def run(_spark: object, _settings: object, _progress: object, command: str) -> list[object]:
        done.append(command)
        return []

    def look(*_: object, dry_run: bool) -> LayerReport:
        done.append(dry_run)
        return LayerReport("maintenance", notes=("bronze/segments: remove 7 rows",))

    for module in (cli, cli_runs):
        monkeypatch.setattr(module, "session_for", lambda _, settings: (None, settings))
    monkeypatch.setattr("pipeline.run.run_command", run)
    monkeypatch.setattr("pipeline.maintenance.job.run", look)
    assert ended(monkeypatch, "maintain", "--conf", str(conf)) == 0
    assert ended(monkeypatch, "maintain", "--conf", str(conf), "--dry-run") == 0
    assert done == ["maintain", True]
    assert "remove 7 rows" in capsys.readouterr().out

    assert ended(monkeypatch, "maintain", "--conf", str(conf), "--dry-run", "--log=json") == 0
    said = capsys.readouterr()
    assert said.out == ""
    told = [json.loads(line) for line in said.err.splitlines()]
    assert [(line["event"], line["message"]) for line in told] == [
        ("note", "bronze/segments: remove 7 rows")
    ]


@dataclass
class Compared:
    """What a verification is asked for."""

    equal: bool

    def to_json(self) -> str:
        return "{}"


@pytest.mark.parametrize(
    ("against", "url", "equal", "code"),
    [
        ("server", None, True, 0),
        ("server", None, False, 3),
        ("mysql://me@db", "mysql://me@db", False, 3),
    ],
)
def test_verify_asks_the_server_of_conf_or_the_one_that_is_given(
    conf: Path,
    monkeypatch: pytest.MonkeyPatch,
    against: str,
    url: str | None,
    equal: bool,
    code: int,
) -> None:
    asked: list[tuple[str | None, float]] = []

    def compare(
        _spark: object, settings: Settings, _progress: object, *, tables: object, patience: float
    ) -> Compared:
        asked.append((settings.server.url, patience))
        return Compared(equal)

    monkeypatch.setattr(starting, "session", lambda *_: None)
    monkeypatch.setattr("pipeline.verify.run.with_source", lambda _, settings: settings)
    monkeypatch.setattr("pipeline.run.require_source", lambda *_: None)
    monkeypatch.setattr("pipeline.verify.run.verify_with_server", compare)
    options = ("--conf", str(conf), f"--against={against}", "--wait=7", "--json")
    assert ended(monkeypatch, "verify", *options) == code
    assert asked == [(url, 7)]


def test_what_is_wrong_with_a_dry_run_is_said_as_it_was_asked_for(
    conf: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    conf.write_text("no_such_setting: 1\n")
    assert ended(monkeypatch, "maintain", "--conf", str(conf), "--dry-run", "--log=json") == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert json.loads(line)["event"] == "failed"


@pytest.mark.parametrize("layer", ["run", "decode", "apply"])
def test_a_full_refresh_is_a_command_with_jobs_of_its_own(
    monkeypatch: pytest.MonkeyPatch, layer: str
) -> None:
    said: list[str] = []
    monkeypatch.setattr(cli, "carry_out", lambda command, *_, **__: said.append(command))
    for flags in ([], ["--full-refresh"]):
        cli.app([layer, *flags], standalone_mode=False)
    assert said == [layer, f"{layer} --full-refresh"]
    plain, anew = (COMMANDS[command] for command in said)
    assert list(plain) == list(anew)
    assert plain != anew


def test_single_tables_are_made_again_by_a_full_refresh_alone(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    said: list[object] = []
    monkeypatch.setattr(cli, "carry_out", lambda *_, **told: said.append(told["refresh_tables"]))
    tables = ("--table", "shop.orders", "--table", "shop.line*")
    cli.app(["apply", "--full-refresh", *tables], standalone_mode=False)
    assert said == [["shop.orders", "shop.line*"]]
    assert ended(monkeypatch, "apply", *tables) == 2
    assert "--full-refresh" in capsys.readouterr().err
