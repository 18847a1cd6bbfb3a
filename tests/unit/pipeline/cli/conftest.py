"""Fixtures of commands: settings in a folder, and the process's logger as it was."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.decoder.event_bytes import recorded
from tests.support.observe.captured_log import captured_log

SECRET = "0123456789abcdef" * 4


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
