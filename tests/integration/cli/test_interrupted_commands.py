"""Commands that end while Spark starts or works: by Ctrl-C, SIGTERM, or an error in bronze.

Each ends within seconds with one line, a record if it is a run, and no process left. Java hangs
while it starts, so that no test passes by chance timing.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import pyarrow as pa
import pytest
from deltalake import write_deltalake

from pipeline.errors import INTERRUPTED_SENTENCE
from pipeline.lake import Lake
from pipeline.lake.ledger.run_record import RunRecord
from pipeline.lake.ledger.run_store import read_runs
from tests.support.source.capturing import REPOSITORY, eventually
from tests.support.spark import hung_java
from tests.support.spark.no_spark import NO_SPARK

LOGS = REPOSITORY / "tests" / "data" / "plain.binlog"


RUN = ("run", "--binlogs", str(LOGS))
STUCK = """
import time
from concurrent.futures import ThreadPoolExecutor
from pipeline.cli import app as cli; from pipeline.run import commands as run

def gold(spark, settings, progress):
    with ThreadPoolExecutor() as pool:
        pool.submit(time.sleep, 600)

run.COMMANDS = {"run": {**run.LAYERS, "gold": gold}}
cli.main()
"""
"""Gold waits for a thread that cannot be cancelled, as while Spark plans a MERGE."""


@contextmanager
def running(
    lake: Path,
    *command: str,
    java: Path | None = None,
    program: Sequence[str | Path] = ("-m", "pipeline.cli"),
) -> Iterator[subprocess.Popen[bytes]]:
    """Start a command in its own session, like that of a terminal, with its output in a file."""
    environment = {"PYTHONPATH": str(REPOSITORY), **({"JAVA_HOME": str(java)} if java else {})}
    with (lake.parent / "said").open("wb") as said:
        process = subprocess.Popen(
            [sys.executable, *program, *command, "--lake", lake],
            env={**os.environ, **environment},
            cwd=lake.parent,
            stdout=said,
            stderr=said,
            start_new_session=True,
        )
    try:
        yield process
    finally:
        for left in of_session(process.pid):
            os.kill(left, signal.SIGKILL)
        process.wait()


def of_session(session: int) -> dict[int, str]:
    """Return the running processes of a session, with their programs."""
    found = {}
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            name, _, rest = stat.read_text().partition("(")[2].rpartition(")")
        except OSError:  # it has ended
            continue
        state, _, _, its_session, *_ = rest.split()
        if int(its_session) == session and state != "Z":
            found[int(stat.parent.name)] = name
    return found


def ended(
    process: subprocess.Popen[bytes],
    send: Callable[[int, signal.Signals], None],
    number: signal.Signals,
    within: float,
) -> int:
    began = time.monotonic()
    send(process.pid, number)
    code = process.wait(60)
    assert time.monotonic() - began < within
    eventually(lambda: not of_session(process.pid), 5)
    return code


def require_said_and_recorded(lake: Path, code: int) -> RunRecord:
    """Check the last line of an interrupted run, and its record."""
    lines = [json.loads(line) for line in (lake.parent / "said").read_text().splitlines()]
    assert [line for line in lines if line["level"] != "INFO"] == [lines[-1]]
    assert lines[-1]["event"] == "run_failed"
    assert lines[-1]["message"] == f"run: {INTERRUPTED_SENTENCE}"
    (record,) = read_runs(NO_SPARK, Lake(str(lake)))
    assert (record.outcome, record.exit_code) == ("interrupted", code)
    assert record.error == INTERRUPTED_SENTENCE
    return record


@pytest.mark.parametrize("seconds", [0.0, 1.0])
def test_ctrl_c_while_spark_starts_logs_a_line_and_records_the_run(
    tmp_path: Path, seconds: float
) -> None:
    """The signal goes to all processes of the terminal, including Java."""
    lake = tmp_path / "lake"
    with running(lake, *RUN, "--log", "json") as process:
        eventually(lambda: "java" in of_session(process.pid).values())
        time.sleep(seconds)
        assert ended(process, os.killpg, signal.SIGINT, 5) == 130
    require_said_and_recorded(lake, 130)


def test_waiting_for_hung_java_can_be_interrupted(tmp_path: Path) -> None:
    """For a run, after bronze and silver have finished without Java, and for a command without
    them.
    """
    lake, java = tmp_path / "lake", hung_java.made_in(tmp_path / "jdk")
    with running(lake, *RUN, "--log", "json", java=java) as process:
        eventually(lambda: "gold is started" in (tmp_path / "said").read_text())
        eventually(lambda: hung_java.HUNG in of_session(process.pid).values())
        assert ended(process, os.kill, signal.SIGTERM, 5) == 143
    record = require_said_and_recorded(lake, 143)
    assert record.layer_seconds.keys() == {"bronze", "silver"}

    with running(lake, "verify", java=java) as process:
        eventually(lambda: hung_java.HUNG in of_session(process.pid).values())
        assert ended(process, os.killpg, signal.SIGINT, 5) == 130
    assert (tmp_path / "said").read_text() == f"binlake: {INTERRUPTED_SENTENCE}\n"


def test_a_run_that_does_not_end_in_time_is_still_recorded(tmp_path: Path) -> None:
    lake, program = tmp_path / "lake", tmp_path / "stuck.py"
    java = hung_java.made_in(tmp_path / "jdk")
    program.write_text(STUCK)
    with running(lake, *RUN, "--log", "json", java=java, program=(program,)) as process:
        eventually(lambda: "gold is started" in (tmp_path / "said").read_text())
        assert ended(process, os.killpg, signal.SIGINT, 10) == 130
    record = require_said_and_recorded(lake, 130)
    said = (tmp_path / "said").read_text().splitlines()
    assert json.loads(said[-1])["run_id"] == record.run_id


@pytest.mark.parametrize("hangs", [True, False])
def test_a_run_that_fails_in_silver_does_not_wait_for_java(tmp_path: Path, hangs: bool) -> None:
    """Java is starting then, and has ended when the run is over."""
    lake = tmp_path / "lake"
    java = hung_java.made_in(tmp_path / "jdk") if hangs else None
    write_deltalake(Lake(str(lake)).statements, pa.table({"another": [1]}))
    with running(lake, *RUN, "--log", "json", java=java) as process:
        assert process.wait(30) == 1
        eventually(lambda: not of_session(process.pid), 5)
    *_, last = map(json.loads, (tmp_path / "said").read_text().splitlines())
    assert (last["event"], last["exit_code"]) == ("run_failed", 1)
    assert "lacks these columns" in last["message"]
    (record,) = read_runs(NO_SPARK, Lake(str(lake)))
    assert (record.outcome, record.error_type) == ("failed", "AlteredTableError")


def test_sigterm_during_a_run_logs_a_line_and_records_the_run(tmp_path: Path) -> None:
    lake, said = tmp_path / "lake", tmp_path / "said"
    with running(lake, *RUN, "--log", "json") as process:
        eventually(lambda: "gold: batch 1: planned" in said.read_text(), 120)
        assert ended(process, os.kill, signal.SIGTERM, 10) == 143
    require_said_and_recorded(lake, 143)
