"""Ctrl-C and SIGTERM while Spark starts and while a run is at work: a line, and nobody left."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from pipeline.errors import INTERRUPTED_SENTENCE
from pipeline.lake import Lake
from pipeline.runs.store import read_runs
from tests.support.capturing import REPOSITORY, eventually

LOGS = REPOSITORY / "tests" / "data" / "plain.binlog"


@contextmanager
def running(lake: Path, *options: str) -> Iterator[subprocess.Popen[bytes]]:
    """`binlake run`, in a session of its own as a terminal's is; it says what it does in a file."""
    with (lake.parent / "said").open("wb") as said:
        process = subprocess.Popen(
            [
                sys.executable,
                "-m",
                "pipeline.cli",
                "run",
                "--binlogs",
                LOGS,
                "--lake",
                lake,
                *options,
            ],
            env={**os.environ, "PYTHONPATH": str(REPOSITORY)},
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
    """The processes of a session that are alive, and their programs."""
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


@pytest.mark.parametrize("seconds", [0.0, 1.0])
def test_ctrl_c_while_spark_starts_is_a_line(tmp_path: Path, seconds: float) -> None:
    """All of a terminal's processes get it, Java among them."""
    with running(tmp_path / "lake") as process:
        eventually(lambda: "java" in of_session(process.pid).values())
        time.sleep(seconds)
        assert ended(process, os.killpg, signal.SIGINT, 5) == 130
    assert (tmp_path / "said").read_text() == f"binlake: {INTERRUPTED_SENTENCE}\n"


def test_sigterm_while_a_run_is_at_work_is_a_line_and_a_record(
    spark: SparkSession, tmp_path: Path
) -> None:
    lake, said = tmp_path / "lake", tmp_path / "said"
    with running(lake, "--log", "json") as process:
        eventually(lambda: "batch 1: planned" in said.read_text(), 120)
        assert ended(process, os.kill, signal.SIGTERM, 10) == 143
    lines = [json.loads(line) for line in said.read_text().splitlines()]
    assert [line for line in lines if line["level"] != "INFO"] == [lines[-1]]
    assert lines[-1]["event"] == "run_failed"
    assert lines[-1]["message"] == f"run: {INTERRUPTED_SENTENCE}"
    (record,) = read_runs(spark, Lake(str(lake)))
    assert (record.outcome, record.exit_code, record.error) == (
        *("interrupted", 143),
        INTERRUPTED_SENTENCE,
    )
