"""The start of each command: what a terminal shows at once, and what is missing without Spark."""

from __future__ import annotations

import json
import os
import pty
import select
import signal
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path

import pytest

from pipeline.cli.options import EXAMPLES
from tests.support.decoder.event_bytes import recorded
from tests.support.gold.published import published

PROCESSOR_SECONDS = 1.0
"""Limit of a process's processor time until its first word, which takes a quarter of a second. On a
quiet machine this is the time that passes; on a busy one, much more passes."""
STARTS = 3
"""How often a command may be started to keep the limit: others slow the processor down, too."""
PATIENCE = 10.0
"""Limit of the seconds that pass until then, on a machine that other tests keep busy."""
SERVER = ("--server", "mysql://me@127.0.0.1:1")
LAKE = ("--lake", "{folder}/lake")
LOGS = ("--binlogs", "{folder}/logs")
FIRST_WORDS = {
    ("run", *LOGS, *LAKE): "Starting …",
    ("run", *LOGS, *LAKE, "--dry-run"): "Starting …",
    ("sync", *SERVER, *LAKE, "--to", "{folder}/logs"): "Starting …",
    ("ingest", *LOGS, *LAKE): "Starting …",
    ("decode", *LAKE): "Starting …",
    ("apply", *LAKE): "Starting …",
    ("retry", *LAKE): "Starting …",
    ("init", *SERVER, "--to", "{folder}/shop.yml"): "Querying the server …",
    ("check", *SERVER): "Querying the server …",
    ("capture", *SERVER, "--to", "{folder}/logs"): "Starting …",
    ("seed", *SERVER, *LAKE): "Starting …",
    ("status", *LAKE): "Reading the lake …",
    ("runs", *LAKE): "Reading the lake …",
    ("report", *LAKE, "--html", "{folder}/lake.html"): "Reading the lake …",
    ("verify", *LAKE): "Verifying gold …",
    ("read", *LAKE, "--to", "{folder}/copy"): "Reading the lake …",
    ("dbt-sources", *LAKE): "Reading the lake …",
    ("inspect", "{folder}/logs/log.000001"): "Reading log.000001 …",
    ("config", *LAKE): "Reading the settings …",
    ("maintain", *LAKE): "Starting …",
    ("maintain", *LAKE, "--dry-run"): "Starting …",
}
"""A call of every command, and what it shows first."""
WITHOUT = """
import sys

for package in {packages}:
    sys.modules[package] = None
from pipeline.cli import main

main()
"""
SPARK = ("pyspark", "py4j", "delta")


@dataclass(frozen=True)
class Start:
    """Output of a command up to a word, and the processor seconds that this takes."""

    shown: str
    processor_seconds: float


def start(*command: str | Path, word: str, patience: float = PATIENCE) -> Start:
    """Start a command on a terminal, and kill it as soon as the terminal shows `word`, or after
    `patience` seconds."""
    terminal, end = pty.openpty()
    began = time.monotonic()
    process = subprocess.Popen(
        [sys.executable, "-m", "pipeline.cli", *command],
        stdin=end,
        stdout=end,
        stderr=end,
        env={**os.environ, "TERM": "xterm", "COLUMNS": "80"},
        start_new_session=True,
    )
    os.close(end)
    shown = b""
    try:
        while word.encode() not in shown and time.monotonic() < began + patience:
            if select.select([terminal], [], [], 0.1)[0]:
                shown += os.read(terminal, 10_000)
    except OSError:
        pass  # the command has ended, and nobody has the terminal open
    finally:
        os.killpg(process.pid, signal.SIGKILL)
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        os.close(terminal)
    return Start(shown.decode(errors="replace"), usage.ru_utime + usage.ru_stime)


@pytest.fixture(scope="module", autouse=True)
def compiled() -> None:
    """Have the modules' bytecode written, which an installation has."""
    subprocess.run([sys.executable, "-m", "pipeline.cli", "-V"], check=True, capture_output=True)


@pytest.mark.parametrize(
    ("command", "word"), FIRST_WORDS.items(), ids=[command for command, *_ in FIRST_WORDS]
)
def test_a_terminal_has_a_word_within_a_second(
    tmp_path: Path, command: tuple[str, ...], word: str
) -> None:
    (tmp_path / "logs").mkdir()
    (tmp_path / "logs" / "log.000001").write_bytes(recorded("plain"))
    arguments = [part.format(folder=tmp_path) for part in command]
    seconds = []
    while not seconds or (min(seconds) >= PROCESSOR_SECONDS and len(seconds) < STARTS):
        started = start(*arguments, word=word)
        assert word in started.shown
        seconds.append(started.processor_seconds)
    assert min(seconds) < PROCESSOR_SECONDS


def test_the_first_word_of_every_command_is_timed() -> None:
    assert {command for command, *_ in FIRST_WORDS} == {*EXAMPLES} - {"binlake"}


def test_a_terminal_sees_that_spark_starts(tmp_path: Path) -> None:
    """`verify` starts it at once, once it has found a snapshot."""
    lake = published(tmp_path / "lake")
    word = "Starting Spark …"
    assert word in start("verify", "--lake", lake, word=word, patience=3 * PATIENCE).shown


def without_spark(*command: str | Path) -> subprocess.CompletedProcess[str]:
    """A command in an environment that lacks the packages of the extra `spark`."""
    return without(SPARK, *command)


def without(packages: tuple[str, ...], *command: str | Path) -> subprocess.CompletedProcess[str]:
    """A command in an environment that lacks these packages."""
    program = WITHOUT.format(packages=packages)
    return subprocess.run([sys.executable, "-c", program, *command], capture_output=True, text=True)


@pytest.mark.parametrize("command", ["run", "status", "runs", "verify"])
def test_without_the_spark_extra_a_line_says_what_to_install(tmp_path: Path, command: str) -> None:
    (tmp_path / "ledger").mkdir()
    logs = ("--binlogs", tmp_path) if command == "run" else ()
    result = without_spark(command, "--lake", tmp_path, *logs)
    assert result.returncode == 1
    (line,) = result.stderr.splitlines()
    assert line.startswith("binlake: Spark is not installed")
    assert "pip install 'binlake[spark]'" in line
    assert result.stdout == ""


def test_without_the_report_extra_a_line_says_what_to_install(tmp_path: Path) -> None:
    html = tmp_path / "lake.html"
    packages = ("altair", "vl_convert", "jinja2")
    result = without(packages, "report", "--lake", tmp_path, "--html", html)
    assert result.returncode == 1
    assert result.stderr == (
        "binlake: Altair is not installed (no jinja2). Run: pip install 'binlake[report]', or"
        " pip install '.[report]' in a clone.\n"
    )
    assert not html.exists()


def test_without_the_spark_extra_json_has_the_same_sentence(tmp_path: Path) -> None:
    result = without_spark("run", "--lake", tmp_path, "--binlogs", tmp_path, "--log", "json")
    (line,) = map(json.loads, result.stderr.splitlines())
    assert (line["event"], line["exit_code"]) == ("failed", 1)
    assert "pip install 'binlake[spark]'" in line["message"]


@pytest.mark.parametrize("command", [("--version",), ("run", "--help"), ("config",)])
def test_what_needs_no_spark_works_without_it(command: tuple[str, ...]) -> None:
    result = without_spark(*command)
    assert (result.returncode, result.stderr) == (0, "")
