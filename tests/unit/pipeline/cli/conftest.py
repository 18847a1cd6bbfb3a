"""Fixtures of commands: settings in a folder, and the process's logger as it was; exit codes."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from pipeline.cli import app as cli
from pipeline.spark import session as starting
from tests.support.decoder.event_bytes import recorded
from tests.support.observe.captured_log import captured_log

SECRET = "0123456789abcdef" * 4


@pytest.fixture(autouse=True)
def no_session(monkeypatch: pytest.MonkeyPatch) -> None:
    """Find no session of Spark, as in a new process, whatever other tests have started."""
    monkeypatch.setattr(SparkSession, "getActiveSession", lambda: None)


@pytest.fixture
def as_before() -> Iterator[None]:
    """Restore the process's logger, which a command sets up."""
    with captured_log():
        yield


@pytest.fixture
def conf(tmp_path: Path) -> Path:
    """Settings with a secret, a lake in which a run has started, and a folder with a log."""
    file = tmp_path / "conf.yml"
    lake, logs = tmp_path / "lake", tmp_path / "logs"
    (lake / "ledger").mkdir(parents=True)
    logs.mkdir()
    (logs / "log.000001").write_bytes(recorded("plain"))
    passwords = f"encryption:\n  passwords:\n    log.000001: '{SECRET}'\n"
    file.write_text(f"lake: {lake}\nbinlogs: {logs}\n{passwords}")
    return file


def ended(monkeypatch: pytest.MonkeyPatch, *command: str) -> int:
    """Return the exit code of `binlake COMMAND`."""
    monkeypatch.setattr(sys, "argv", ["binlake", *command])
    with pytest.raises(SystemExit) as exit_:
        cli.main()
    assert isinstance(exit_.value.code, int)
    return exit_.value.code


def not_starting(monkeypatch: pytest.MonkeyPatch, error: BaseException) -> None:
    """Make the start of Spark fail with this error."""

    def session(*_: object, **__: object) -> Any:
        raise error

    monkeypatch.setattr(starting, "session", session)
