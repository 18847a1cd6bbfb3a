"""Commands that end while Spark starts or works: Ctrl-C, SIGTERM, an error in silver.

Each ends within seconds with a line, a run also with a record, and leaves no process. A Java that
hangs as it starts makes sure that nothing ends in time by chance.
"""

from __future__ import annotations

import json
import os
import pty
import re
import select
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
from tests.support.gold.published import published
from tests.support.source.capturing import REPOSITORY, eventually
from tests.support.spark import hung_java
from tests.support.spark.no_spark import NO_SPARK

SHOW_CURSOR, HIDE_CURSOR = "\x1b[?25h", "\x1b[?25l"
DATA = REPOSITORY / "tests" / "data"
RUN = ("run", "--binlogs", str(DATA / "plain.binlog"), "--conf", str(DATA / "needs_spark.yml"))
"""Gold needs Spark for these few changes, since their tables have a change data feed."""
WITH_ALTERS = ("run", "--binlogs", str(REPOSITORY / "demo" / "binlogs"), "--source", "shop")
"""Spark starts while silver decodes these, since they have changes of columns."""
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


def on_a_terminal(*command: str | Path, java: Path, until: str) -> tuple[int, str]:
    """Interrupt a command on a terminal once it shows `until` and bars; return its code and output.

    The same words may be a line before the bars, which hide the cursor.
    """
    terminal, end = pty.openpty()
    process = subprocess.Popen(
        [sys.executable, "-m", "pipeline.cli", *command],
        env={**os.environ, "TERM": "xterm", "COLUMNS": "80", "JAVA_HOME": str(java)},
        stdin=end,
        stdout=end,
        stderr=end,
        start_new_session=True,
    )
    os.close(end)
    shown, interrupted, patience = b"", False, time.monotonic() + 120
    try:
        while time.monotonic() < patience:
            if select.select([terminal], [], [], 0.1)[0]:
                try:
                    shown += os.read(terminal, 10_000)
                except OSError:  # it has ended
                    break
            if not interrupted and until.encode() in shown and HIDE_CURSOR.encode() in shown:
                os.killpg(process.pid, signal.SIGINT)
                interrupted = True
        return process.wait(10), shown.decode()
    finally:
        for left in of_session(process.pid):
            os.kill(left, signal.SIGKILL)
        process.wait()
        os.close(terminal)


@contextmanager
def running(
    lake: Path,
    *command: str,
    java: Path | None = None,
    program: Sequence[str | Path] = ("-m", "pipeline.cli"),
) -> Iterator[subprocess.Popen[bytes]]:
    """Run a command in its own session, as on a terminal; its output goes to the file `output`."""
    environment = {"PYTHONPATH": str(REPOSITORY), **({"JAVA_HOME": str(java)} if java else {})}
    with (lake.parent / "output").open("wb") as output:
        process = subprocess.Popen(
            [sys.executable, *program, *command, "--lake", lake],
            env={**os.environ, **environment},
            cwd=lake.parent,
            stdout=output,
            stderr=output,
            start_new_session=True,
        )
    try:
        yield process
    finally:
        for left in of_session(process.pid):
            os.kill(left, signal.SIGKILL)
        process.wait()


def of_session(session: int) -> dict[int, str]:
    """Return the live processes of a session, and their programs."""
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


def require_logged_and_recorded(lake: Path, code: int) -> RunRecord:
    """Check the last line of an interrupted run; return its record."""
    lines = [json.loads(line) for line in (lake.parent / "output").read_text().splitlines()]
    assert [line for line in lines if line["level"] != "INFO"] == [lines[-1]]
    assert lines[-1]["event"] == "run_failed"
    assert lines[-1]["message"] == f"run: {INTERRUPTED_SENTENCE}"
    (record,) = read_runs(NO_SPARK, Lake(str(lake)))
    assert (record.outcome, record.exit_code) == ("interrupted", code)
    assert record.error == INTERRUPTED_SENTENCE
    return record


@pytest.mark.parametrize("seconds", [0.0, 1.0])
def test_ctrl_c_while_spark_starts_is_a_line_and_a_record(tmp_path: Path, seconds: float) -> None:
    """All processes of a terminal get the signal, Java among them."""
    lake = tmp_path / "lake"
    with running(lake, *RUN, "--log", "json") as process:
        eventually(lambda: "java" in of_session(process.pid).values())
        time.sleep(seconds)
        assert ended(process, os.killpg, signal.SIGINT, 5) == 130
    require_logged_and_recorded(lake, 130)


def test_waiting_for_a_java_that_hangs_can_be_interrupted(tmp_path: Path) -> None:
    """A run after bronze and silver, which need no Spark, and a command that starts with Spark."""
    lake, java = tmp_path / "lake", hung_java.made_in(tmp_path / "jdk")
    with running(lake, *RUN, "--log", "json", java=java) as process:
        eventually(lambda: "gold started" in (tmp_path / "output").read_text())
        eventually(lambda: hung_java.HUNG in of_session(process.pid).values())
        assert ended(process, os.kill, signal.SIGTERM, 5) == 143
    record = require_logged_and_recorded(lake, 143)
    assert record.layer_seconds.keys() == {"bronze", "silver"}

    with running(published(tmp_path / "other"), "verify", java=java) as process:
        eventually(lambda: hung_java.HUNG in of_session(process.pid).values())
        assert ended(process, os.killpg, signal.SIGINT, 5) == 130
    assert (tmp_path / "output").read_text() == f"binlake: {INTERRUPTED_SENTENCE}\n"


@pytest.mark.parametrize(
    ("command", "until"),
    [
        (RUN, "Starting …"),
        (RUN, "Starting Spark …"),
        (("verify",), "Starting Spark …"),
    ],
)
def test_an_interrupted_command_gives_the_terminal_back(
    tmp_path: Path, command: tuple[str, ...], until: str
) -> None:
    """The bars are gone, the cursor is shown, and the last line is the command's."""
    lake, java = published(tmp_path / "lake"), hung_java.made_in(tmp_path / "jdk")
    code, shown = on_a_terminal(*command, "--lake", lake, java=java, until=until)
    assert code == 130
    bars, last = shown.rsplit(SHOW_CURSOR, 1)
    assert HIDE_CURSOR in bars
    assert re.sub(r"\x1b\[\d*[AK]", "", last).strip() == f"binlake: {INTERRUPTED_SENTENCE}"


def test_a_run_that_does_not_end_in_time_is_recorded(tmp_path: Path) -> None:
    lake, program = tmp_path / "lake", tmp_path / "stuck.py"
    java = hung_java.made_in(tmp_path / "jdk")
    program.write_text(STUCK)
    with running(lake, *RUN, "--log", "json", java=java, program=(program,)) as process:
        eventually(lambda: "gold started" in (tmp_path / "output").read_text())
        assert ended(process, os.killpg, signal.SIGINT, 10) == 130
    record = require_logged_and_recorded(lake, 130)
    output = (tmp_path / "output").read_text().splitlines()
    assert json.loads(output[-1])["run_id"] == record.run_id


@pytest.mark.parametrize("hangs", [True, False])
def test_a_run_that_fails_in_silver_does_not_wait_for_java(tmp_path: Path, hangs: bool) -> None:
    """Java is starting by then; it is gone when the run ends."""
    lake = tmp_path / "lake"
    java = hung_java.made_in(tmp_path / "jdk") if hangs else None
    write_deltalake(Lake(str(lake)).statements, pa.table({"another": [1]}))
    with running(lake, *WITH_ALTERS, "--log", "json", java=java) as process:
        assert process.wait(30) == 1
        eventually(lambda: not of_session(process.pid), 5)
    *_, last = map(json.loads, (tmp_path / "output").read_text().splitlines())
    assert (last["event"], last["exit_code"]) == ("run_failed", 1)
    assert "lacks these columns" in last["message"]
    (record,) = read_runs(NO_SPARK, Lake(str(lake)))
    assert (record.outcome, record.error_type) == ("failed", "AlteredTableError")


def test_sigterm_while_a_run_is_at_work_is_a_line_and_a_record(tmp_path: Path) -> None:
    lake, output = tmp_path / "lake", tmp_path / "output"
    with running(lake, *RUN, "--log", "json") as process:
        eventually(lambda: "gold: batch 1: planned" in output.read_text(), 120)
        assert ended(process, os.kill, signal.SIGTERM, 10) == 143
    require_logged_and_recorded(lake, 143)


LEFT_AT_WORK = """
import atexit, threading, time
from pipeline.cli import app as cli
from pipeline.observe.interruption import leave_threads

def app(*_, **__):
    threading.Thread(target=time.sleep, args=[600], daemon=True).start()
    leave_threads()
    print("ended after the last round")
    {end}

atexit.register(print, "finalized")
cli.app = app
cli.main()
"""


@pytest.mark.parametrize(("end", "code"), [("raise SystemExit(3)", 3), ("raise ValueError", 1)])
def test_a_process_with_a_thread_at_work_ends_without_finalizing(end: str, code: int) -> None:
    """Which would crash it if the thread is in native code, such as a reading of Parquet."""
    command = [sys.executable, "-c", LEFT_AT_WORK.format(end=end)]
    done = subprocess.run(command, cwd=REPOSITORY, stdout=subprocess.PIPE, text=True, check=False)
    assert (done.returncode, done.stdout) == (code, "ended after the last round\n")
