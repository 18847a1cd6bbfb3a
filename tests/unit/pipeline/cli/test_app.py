"""Commands that end before a run or before Spark: one line, the exit code, and no secrets."""

from __future__ import annotations

import json
import os
from dataclasses import dataclass
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

import pytest

from pipeline.cli import app as cli, run_commands as cli_runs
from pipeline.errors import INTERRUPTED_SENTENCE, MissingRequirementError
from pipeline.lake.ledger.run_record import RunRecord
from pipeline.observe import LayerReport, say
from pipeline.observe.progress import LogProgress
from pipeline.run.commands import COMMANDS
from pipeline.run.status import LastRun, SourceStatus, Status
from pipeline.settings import Settings
from pipeline.spark import session as starting
from tests.support.bronze.bronze_input import FILES
from tests.support.decoder.event_bytes import DATA
from tests.unit.pipeline.cli.conftest import SECRET, ended, not_starting
from tests.unit.pipeline.cli.test_show import table

pytestmark = pytest.mark.usefixtures("as_before")


@pytest.mark.parametrize(
    ("error", "code", "trace", "sentence"),
    [
        (RuntimeError(f"no port for {SECRET}"), 1, True, "RuntimeError: no port for ***"),
        (MissingRequirementError(f"no {SECRET}."), 1, False, "no ***."),
        (KeyboardInterrupt(), 130, False, INTERRUPTED_SENTENCE),
    ],
)
def test_an_error_that_keeps_spark_from_starting_is_one_line(
    conf: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    error: BaseException,
    code: int,
    trace: bool,
    sentence: str,
) -> None:
    not_starting(monkeypatch, error)
    needs_spark = (DATA / "needs_spark.yml").read_text()
    conf.write_text(f"{conf.read_text()}{needs_spark}log: json\n")
    assert ended(monkeypatch, "run", "--conf", str(conf)) == code
    shown = capsys.readouterr()
    lines = map(json.loads, shown.err.splitlines())
    (line,) = (line for line in lines if line["level"] != "INFO")
    message = f"run: {sentence}" if code == 130 else f"run failed: {sentence}"
    assert (line["event"], line["exit_code"], line["message"]) == ("run_failed", code, message)
    assert ("exc_info" in line) is trace
    assert SECRET not in shown.err
    assert shown.out == ""


def test_an_unexpected_error_has_a_stack_trace_without_secrets(
    conf: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    not_starting(monkeypatch, RuntimeError(f"no port for {SECRET}"))
    monkeypatch.setattr(starting, "spark_for", starting.session)
    assert ended(monkeypatch, "verify", "--conf", str(conf)) == 1
    trace = capsys.readouterr().err
    assert trace.startswith("Traceback")
    assert trace.endswith("RuntimeError: no port for ***\n")
    not_starting(monkeypatch, MissingRequirementError(f"no {SECRET}."))
    monkeypatch.setattr(starting, "spark_for", starting.session)
    assert ended(monkeypatch, "verify", "--conf", str(conf)) == 1
    assert capsys.readouterr().err == "binlake: no ***.\n"


def test_an_empty_folder_is_no_lake_and_a_lake_whose_first_run_failed_shows_that_run(
    conf: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    not_starting(monkeypatch, AssertionError("status starts Spark"))
    monkeypatch.setattr("pipeline.run.status.read_status", lambda *_: Status("/lake", (), (), ()))
    assert ended(monkeypatch, "status", "--conf", str(conf)) == 2
    assert "there is no lake in " in capsys.readouterr().err
    now = datetime.now(timezone.utc)
    last = LastRun("r", "run", now, now, "failed", 1, "no log.")
    shop = SourceStatus("shop", None, None, None, None, None, last)
    failed = Status("/lake", (), (), ("shop: nothing has been ingested yet.",), (shop,))
    monkeypatch.setattr("pipeline.run.status.read_status", lambda *_: failed)
    assert ended(monkeypatch, "status", "--json", "--conf", str(conf)) == 0
    document = json.loads(capsys.readouterr().out)
    assert document["sources"][0]["last_run"]["error"] == "no log."
    assert ended(monkeypatch, "status", "--check", "--conf", str(conf)) == 3


def test_a_result_is_not_wrapped_unless_it_is_on_a_terminal(
    conf: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """A scheduler's log has its own width."""
    reason = f"binlog.000002, position 4711: {'it cannot be decoded, ' * 20}see its faults"
    held = Status("/lake", (), (table("pans", held=True, reason=reason),), ())
    monkeypatch.setattr(cli, "lake_status", lambda *_: held)
    assert ended(monkeypatch, "status", "--conf", str(conf)) == 0
    printed = capsys.readouterr().out.splitlines()
    assert [line for line in printed if line != line.rstrip()] == []
    (line,) = [line for line in printed if "pans" in line]
    assert line.endswith(f"1 fault: {reason}")
    assert "\x1b" not in line

    monkeypatch.setattr(cli_runs.sys.stdout, "isatty", lambda: True)
    monkeypatch.setenv("COLUMNS", "80")
    with cli_runs.result_console() as out:
        assert out.width == 80


def test_verbose_logs_lines_and_lists_every_table(
    conf: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def look(_settings: object, progress: object) -> Status:
        assert isinstance(progress, LogProgress)
        say("looked", "looking")
        return Status("/lake", (), (table("pans"),), ())

    monkeypatch.setattr(cli, "lake_status", look)
    assert ended(monkeypatch, "status", "--verbose", "--conf", str(conf)) == 0
    printed = capsys.readouterr()
    assert "INFO looking event=looked" in printed.err
    assert "pans" in printed.out


def test_a_lake_or_source_that_the_first_run_will_make_has_an_error_of_its_own(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Airflow skips maintenance then."""
    for made, words in ((False, "there is no lake in"), (True, "has no source named shop")):
        if made:
            (tmp_path / "ledger").mkdir()
        command = ("maintain", "--log=json", "--source=shop", f"--lake={tmp_path}")
        assert ended(monkeypatch, *command) == 2
        line = json.loads(capsys.readouterr().err.splitlines()[-1])
        assert (line["event"], line["error_type"]) == ("failed", "NothingReplicatedError")
        assert words in line["message"]


def test_there_is_nothing_to_verify_before_the_first_run_has_published(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Airflow skips verify then. Spark is not started to find it out."""
    monkeypatch.setattr(starting, "session", lambda *_, **__: pytest.fail("Spark was started"))
    options = ("--source=shop", f"--lake={tmp_path}/lake")
    ingested = ("--binlogs", str(FILES[0].parent))
    assert ended(monkeypatch, "ingest", *options, *ingested) == 0
    for against in ((), ("--against=server",), ("--against=shop.jsonl.gz",)):
        capsys.readouterr()
        assert ended(monkeypatch, "verify", *options, *against) == 2
        printed = capsys.readouterr()
        assert printed.out == ""
        assert printed.err == (
            "binlake: source: there is nothing to verify yet: gold has no published snapshot of"
            f" shop in {tmp_path}/lake. Run binlake run first; if it has run, give its --source and"
            " --lake.\n"
        )
    assert ended(monkeypatch, "verify", *options, "--log=json") == 2
    line = json.loads(capsys.readouterr().err)
    assert (line["event"], line["error_type"]) == ("failed", "NothingReplicatedError")


def test_an_ingest_that_finds_no_new_log_for_too_long_ends_with_code_3(
    conf: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """However old its files are, the run that ingests them is not stale."""
    log = conf.parent / "logs" / "log.000001"
    os.utime(log, (1_700_000_000, 1_700_000_000))
    conf.write_text(f"{conf.read_text()}stale: 1 hour\n")
    assert ended(monkeypatch, "ingest", "--conf", str(conf)) == 0
    capsys.readouterr()
    assert ended(monkeypatch, "ingest", "--conf", str(conf)) == 3
    assert (
        "No new log: the newest file, log.000001, was last written at 2023-11-14 22:13:20 UTC,"
        " longer ago than stale (1 h 0 min) allows. Check the capture"
    ) in capsys.readouterr().err
    os.utime(log)
    assert ended(monkeypatch, "ingest", "--conf", str(conf)) == 0


def test_maintenance_is_a_run_and_its_dry_run_is_not(
    conf: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    done: list[object] = []

    def run(_spark: object, _settings: object, _progress: object, command: str) -> Any:
        done.append(command)
        return [], None

    def look(*_: object, dry_run: bool) -> LayerReport:
        done.append(dry_run)
        return LayerReport("maintenance", notes=("bronze/segments: remove 7 rows",))

    monkeypatch.setattr(cli_runs, "session_for", lambda _, settings, __: (None, settings))
    monkeypatch.setattr("pipeline.run.commands.recorded_run", run)
    monkeypatch.setattr("pipeline.maintenance.job.run", look)
    assert ended(monkeypatch, "maintain", "--conf", str(conf)) == 0
    assert ended(monkeypatch, "maintain", "--conf", str(conf), "--dry-run") == 0
    assert done == ["maintain", True]
    assert "remove 7 rows" in capsys.readouterr().out

    assert ended(monkeypatch, "maintain", "--conf", str(conf), "--dry-run", "--log=json") == 0
    printed = capsys.readouterr()
    assert printed.out == ""
    logged = [json.loads(line) for line in printed.err.splitlines()]
    assert [(line["event"], line["message"]) for line in logged] == [
        ("note", "bronze/segments: remove 7 rows")
    ]


def test_a_run_prints_its_record_as_json(
    conf: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    now = datetime.now(timezone.utc)
    record = RunRecord("r", "shop", "run", ("bronze",), now, now, "done", 0)
    found: list[RunRecord | None] = [record, None]
    monkeypatch.setattr(cli_runs, "session_for", lambda _, settings, __: (None, settings))
    monkeypatch.setattr("pipeline.run.commands.recorded_run", lambda *_: ([], found.pop(0)))
    assert ended(monkeypatch, "run", "--json", "--conf", str(conf)) == 0
    assert capsys.readouterr().out == f"{record.to_json()}\n"
    assert ended(monkeypatch, "run", "--json", "--conf", str(conf)) == 0
    assert capsys.readouterr().out == ""  # it could not be made


@dataclass
class Compared:
    """The result of a comparison."""

    equal: bool
    against: None = None

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
def test_verify_compares_with_the_server_of_the_settings_or_the_one_given(
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
    monkeypatch.setattr("pipeline.run.commands.require_source", lambda *_: None)
    monkeypatch.setattr("pipeline.verify.run.verify_with_server", compare)
    options = ("--conf", str(conf), f"--against={against}", "--wait=7", "--json")
    assert ended(monkeypatch, "verify", *options) == code
    assert asked == [(url, 7)]


def test_errors_of_a_dry_run_have_the_log_format_asked_for(
    conf: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    conf.write_text("no_such_setting: 1\n")
    assert ended(monkeypatch, "maintain", "--conf", str(conf), "--dry-run", "--log=json") == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert json.loads(line)["event"] == "failed"


@pytest.mark.parametrize("layer", ["run", "decode", "apply"])
def test_a_full_refresh_is_a_command_with_its_own_jobs(
    monkeypatch: pytest.MonkeyPatch, layer: str
) -> None:
    commands: list[str] = []
    monkeypatch.setattr(cli_runs, "carry_out", lambda command, *_, **__: commands.append(command))
    for flags in ([], ["--full-refresh"]):
        cli.app([layer, *flags], standalone_mode=False)
    assert commands == [layer, f"{layer} --full-refresh"]
    plain, refresh = (COMMANDS[command] for command in commands)
    assert list(plain) == list(refresh)
    assert plain != refresh


@pytest.mark.parametrize(
    ("command", "carried_out"),
    [
        (["sync"], ("once", None, True)),
        (["sync", "--every", "30s"], ("continuously", 30, True)),
        (["run", "--every", "0s"], ("continuously", 0, False)),
        (["run", "--every", "30s", "--full-refresh"], None),
    ],
)
def test_every_makes_a_command_stay(
    command: list[str],
    carried_out: tuple[str, int | None, bool] | None,
    conf: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    done: list[tuple[str, int | None, bool]] = []

    def once(settings: Settings, *_: object) -> tuple[int, None]:
        done.append(("once", None, True))
        return 3, None

    def continuously(settings: Settings, *_: object, captures: bool) -> int:
        assert settings.sync.every is not None
        done.append(("continuously", settings.sync.every.seconds, captures))
        return 3

    monkeypatch.setattr("pipeline.run.sync.command.once", once)
    monkeypatch.setattr("pipeline.run.sync.command.continuously", continuously)
    code = ended(monkeypatch, *command, "--conf", str(conf))
    assert (code, done) == ((2, []) if carried_out is None else (3, [carried_out]))


def test_single_tables_are_rebuilt_by_a_full_refresh_only(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    chosen: list[object] = []
    monkeypatch.setattr(
        cli_runs, "carry_out", lambda *_, **given: chosen.append(given["refresh_tables"])
    )
    tables = ("--table", "shop.orders", "--table", "shop.line*")
    cli.app(["apply", "--full-refresh", *tables], standalone_mode=False)
    assert chosen == [["shop.orders", "shop.line*"]]
    assert ended(monkeypatch, "apply", *tables) == 2
    assert "--full-refresh" in capsys.readouterr().err
