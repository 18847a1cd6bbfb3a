"""The first second of a command: what a terminal shows, and what is missing without Spark."""

from __future__ import annotations

import json
import os
import pty
import select
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.support.decoder.event_bytes import recorded
from tests.support.gold.published import published

PATIENCE = 5.0
"""Seconds for the first word, which takes half a second on a quiet machine."""
WITHOUT = """
import sys

for package in {packages}:
    sys.modules[package] = None
from pipeline.cli import main

main()
"""
SPARK = ("pyspark", "py4j", "delta")


def first_words(*command: str | Path, word: str) -> float:
    """Seconds until a terminal shows `word`; the command is ended then."""
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
        while word.encode() not in shown and time.monotonic() < began + 6 * PATIENCE:
            if select.select([terminal], [], [], 0.1)[0]:
                shown += os.read(terminal, 10_000)
        assert word in shown.decode()
        return time.monotonic() - began
    finally:
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()
        os.close(terminal)


@pytest.mark.parametrize(
    ("command", "word"),
    [
        (("run", "--binlogs", "{logs}", "--lake", "{lake}"), "Starting …"),
        (("status", "--lake", "{lake}"), "Reading the lake …"),
        (("verify", "--lake", "{lake}"), "Verifying gold …"),
        (("inspect", "{logs}/log.000001"), "Reading log.000001 …"),
        (("check", "--server", "mysql://me@127.0.0.1:1"), "Querying the server …"),
        (("capture", "--server", "mysql://me@127.0.0.1:1", "--to", "{logs}"), "Starting …"),
    ],
)
def test_a_terminal_has_a_word_soon(tmp_path: Path, command: tuple[str, ...], word: str) -> None:
    (tmp_path / "logs").mkdir()
    (tmp_path / "logs" / "log.000001").write_bytes(recorded("plain"))
    places = {"logs": str(tmp_path / "logs"), "lake": str(tmp_path / "lake")}
    given = [part.format(**places) for part in command]
    assert first_words(*given, word=word) < PATIENCE


def test_a_terminal_sees_that_spark_starts(tmp_path: Path) -> None:
    """`verify` starts it at once, once it has found a snapshot."""
    lake = published(tmp_path / "lake")
    assert first_words("verify", "--lake", lake, word="Starting Spark …") < 6 * PATIENCE


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
