"""`binlake` as a process: exit codes, SIGKILL, and two concurrent runs."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from pyspark.sql import SparkSession
from typer.testing import CliRunner

from pipeline.cli.app import app
from pipeline.errors import SettingsError
from tests.e2e.conftest import Run
from tests.support.gold.compare import assert_gold_equals_source
from tests.support.servers import traffic
from tests.support.servers.mysql import MySQLFactory, MySQLServer

TABLES = ("account", "line", "word", "digest")


def binlake(*arguments: str | Path) -> subprocess.Popen[bytes]:
    """Start the command in its own process group, so that its Java can be killed with it."""
    return subprocess.Popen(
        [sys.executable, "-m", "pipeline.cli", *map(str, arguments)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        start_new_session=True,
    )


@pytest.fixture(scope="module")
def conf(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return settings that speed up a run over a few rows: no code generation."""
    file = tmp_path_factory.mktemp("conf") / "binlake.yml"
    file.write_text("spark: {conf: {spark.sql.codegen.factoryMode: NO_CODEGEN}}")
    return file


@pytest.fixture(scope="module")
def server(mysql_factory: MySQLFactory) -> MySQLServer:
    started = mysql_factory("--max-binlog-size=65536")
    with started.connect() as connection:
        traffic.run(connection, 200, seed=3)
    return started


def commits_of(lake: Path) -> int:
    """Return the number of Delta commits; unlike `rglob`, `walk` tolerates folders that vanish."""
    logs = (names for folder, _, names in os.walk(lake) if folder.endswith("_delta_log"))
    return sum(name.endswith(".json") for names in logs for name in names)


def wait_for_commits(process: subprocess.Popen[bytes], lake: Path, count: int) -> None:
    """Wait until a run has made this many Delta commits."""
    patience = time.monotonic() + 240
    while commits_of(lake) < count and time.monotonic() < patience:
        assert process.poll() is None, process.communicate()
        time.sleep(0.05)


@pytest.mark.long
def test_two_concurrent_runs_after_a_killed_one_yield_one_result(
    spark: SparkSession, server: MySQLServer, run: Run, conf: Path, tmp_path: Path
) -> None:
    lake = tmp_path / "lake"
    places = ("--binlogs", server.binlog_folder, "--lake", lake)
    command = ("run", "--conf", conf, "--source", "e2e", *places)
    killed = binlake(*command)
    wait_for_commits(killed, lake, 8)
    os.killpg(killed.pid, signal.SIGKILL)
    killed.wait()
    commits = commits_of(lake)

    # Java is already running in this process: it begins while the other run is at work.
    other = binlake(*command)
    wait_for_commits(other, lake, commits + 1)
    reports = run(server.binlog_folder, lake)
    assert all(report.clean for report in reports), reports
    _, errors = other.communicate()
    assert other.returncode == 0, errors.decode()
    for table in TABLES:
        assert_gold_equals_source(spark, server, str(lake), traffic.SCHEMA, table)

    # In this process and its session: another start of Java would prove nothing more.
    status = CliRunner().invoke(app, ["status", "--lake", str(lake), "--json"])
    assert status.exit_code == 0, status.output
    tables = {table["table"]: table for table in json.loads(status.stdout)["tables"]}
    assert tables.keys() == set(TABLES)
    for table in tables.values():
        assert (table["schema"], table["faults"], table["held"]) == (traffic.SCHEMA, 0, False)
        assert table["complete"]
        assert table["lsn"] > 0
        assert (Path(table["gold"]) / "_delta_log").is_dir()


@pytest.mark.parametrize("command", ["decode", "apply", "retry", "status"])
def test_a_missing_lake_or_source_is_a_usage_error(
    spark: SparkSession, command: str, tmp_path: Path
) -> None:
    result = CliRunner().invoke(app, [command, "--lake", str(tmp_path)])
    assert isinstance(result.exception, SettingsError)
    assert result.exception.exit_code == 2


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("run", "--lake", "lake"), "binlogs"),
        (("run", "--source", "a b", "--binlogs", ".", "--lake", "lake"), "source"),
        (("run", "--binlog", "."), "--binlog"),
        (("decode",), "lake"),
        (("run", "--conf", "no-such-file.yml"), "no-such-file.yml"),
    ],
    ids=["no binlogs", "a source that is no name", "an unknown option", "no lake", "no such conf"],
)
def test_usage_errors_are_one_line_with_exit_code_2(
    arguments: tuple[str, ...], message: str
) -> None:
    process = binlake(*arguments)
    _, errors = process.communicate()
    assert process.returncode == 2
    assert message in errors.decode()
    assert "Traceback" not in errors.decode()


def test_with_json_standard_error_has_only_objects() -> None:
    process = binlake("run", "--log", "json", "--source", "a b", "--lake", "lake")
    out, errors = process.communicate()
    assert process.returncode == 2
    assert out == b""
    (line,) = map(json.loads, errors.splitlines())
    assert (line["event"], line["level"], line["exit_code"]) == ("failed", "ERROR", 2)
    assert line["message"].startswith("source: ")
