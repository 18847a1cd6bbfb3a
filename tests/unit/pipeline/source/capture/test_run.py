"""How a capture handles errors and gaps, without a server."""

from __future__ import annotations

import os
import signal
import threading
import time
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from decoder.constants import EventFlag
from decoder.segments.log_windows import FLAGS_POSITION
from pipeline.errors import BinlakeError
from pipeline.settings.capture import CaptureSettings
from pipeline.source import Capture
from pipeline.source.capture.backoff import TRIES_OF_A_DUMP
from pipeline.source.capture.checkpoints import Checkpoints
from pipeline.source.capture.dump_start import DumpStart
from pipeline.source.capture.errors import (
    BrokenDumpError,
    DumpRefusedError,
    LostConnectionError,
    NotLandedError,
)
from pipeline.source.capture.landed_folder import Landed, LandedFolder
from pipeline.source.capture.state import CaptureState, Replica, read_state
from pipeline.source.server.log_position import LogPosition
from pipeline.source.server.login import Login
from tests.support.decoder.event_bytes import recorded
from tests.support.observe.captured_log import captured_log

LOG = recorded("plain")
REFUSED = DumpRefusedError(1053, "Server shutdown in progress", retryable=True)
BROKEN = BrokenDumpError("the checksum does not match.", file="binlog.000001", position=9)
LOST = LostConnectionError("the connection is lost.")


def a_capture(folder: Path, **settings: Any) -> Capture:
    """Return a capture whose folder exists, and that never waits."""
    given = {"to": str(folder), "retry": {"longest": 0.000001}, **settings}
    made = Capture(CaptureSettings.model_validate(given), Login("localhost", "reader"))
    state = CaptureState(Replica.new())
    made._checkpoints = Checkpoints(LandedFolder(folder), state, made.settings.checkpoint)
    return made


@pytest.mark.parametrize("error", [REFUSED, BROKEN])
def test_refusals_after_a_long_outage_are_counted_separately(
    error: BinlakeError, tmp_path: Path
) -> None:
    capture = a_capture(tmp_path, forever=True)
    for _ in range(20):
        capture._wait_after(LOST)
    for _ in range(TRIES_OF_A_DUMP - 1):
        capture._wait_after(error)
        assert capture._from_first
    with pytest.raises(type(error)):
        capture._wait_after(error)


def test_progress_resets_the_number_of_tries(tmp_path: Path) -> None:
    capture = a_capture(tmp_path, forever=True)
    for _ in range(3 * TRIES_OF_A_DUMP):
        capture._wait_after(REFUSED)
        capture._progressed()


def test_a_capture_follows_once_the_server_answers_and_until_the_connection_is_lost(
    tmp_path: Path,
) -> None:
    capture = a_capture(tmp_path, forever=True)
    assert not capture.follows
    capture._progressed()
    assert capture.follows
    capture._wait_after(LOST)
    assert not capture.follows


def test_a_capture_is_interrupted_until_what_the_server_sends_is_landed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A store that refuses every upload is no server that comes and goes."""
    capture = a_capture(tmp_path, forever=True)
    source: Any = SimpleNamespace(query=lambda *_: [])
    monkeypatch.setattr(capture._checkpoints, "ask", lambda *_, **__: None)
    full = NotLandedError("it is full", folder="s3://logs")

    def publish(**_: object) -> None:
        raise full

    capture._wait_after(LOST)
    began = capture.interrupted_at
    with monkeypatch.context() as patch:
        patch.setattr(capture._checkpoints, "publish", publish)
        capture._progressed()
        with pytest.raises(NotLandedError):
            capture._checkpoint(source, source)
    capture._wait_after(full)
    assert (capture.interrupted_by, capture.interrupted_at) == (full, began)
    capture._checkpoint(source, source)
    assert capture.interrupted_by is full, "the server has not answered yet"
    capture._progressed()
    capture._checkpoint(source, source)
    assert capture.interrupted_by is None


def test_passwords_in_errors_are_redacted_in_the_state(tmp_path: Path) -> None:
    capture = a_capture(tmp_path, forever=True)
    capture._wait_after(NotLandedError("it is full", folder="sftp://user:geheimnis@host/x"))
    error_text = capture._checkpoints.state.last_error
    assert error_text is not None
    assert "it is full" in error_text
    assert "geheimnis" not in error_text


def test_a_gap_is_recorded_before_anything_is_landed_after_it(tmp_path: Path) -> None:
    (tmp_path / "binlog.000001").write_bytes(LOG)
    landed = Landed(LogPosition("binlog.000001", len(LOG)), 300, ended=False)
    start = DumpStart(LogPosition("binlog.000005", 4), lost=True)
    with captured_log() as log:
        a_capture(tmp_path)._note_gap(landed, start)
    state = read_state(tmp_path)
    assert state is not None
    assert [gap.first for gap in state.gaps] == ["binlog.000005"]
    assert [line["levelname"] for line in log.of("gap")] == ["WARNING"]


@pytest.mark.parametrize(
    ("forever", "target", "ended"),
    [(False, len(LOG), True), (False, len(LOG) + 1, False), (True, len(LOG), False)],
)
def test_a_dump_that_ends_early_is_a_lost_connection(
    forever: bool, target: int, ended: bool, tmp_path: Path
) -> None:
    (tmp_path / "binlog.000001").write_bytes(LOG)
    capture = a_capture(tmp_path, forever=forever)
    capture._folder.begin("binlog.000001", len(LOG))
    capture._target = LogPosition("binlog.000001", target)
    if ended:
        capture._require_all()
    else:
        with pytest.raises(LostConnectionError, match="ended the dump"):
            capture._require_all()
    capture._folder.leave()


def test_a_completely_landed_file_is_closed_once_the_server_has_left_it(
    tmp_path: Path,
) -> None:
    flagged = bytearray(LOG)
    flagged[FLAGS_POSITION] |= EventFlag.BINLOG_IN_USE
    (tmp_path / "binlog.000001").write_bytes(bytes(flagged))
    landed = Landed(LogPosition("binlog.000001", len(LOG)), 300, ended=True)
    a_capture(tmp_path)._begin_at(DumpStart(LogPosition("binlog.000002", 4)), landed)
    assert (tmp_path / "binlog.000001").read_bytes() == LOG


def test_stopping_in_a_signal_handler_takes_no_lock(tmp_path: Path) -> None:
    capture = a_capture(tmp_path, forever=True, retry={"longest": 3600})
    before = signal.signal(signal.SIGUSR1, lambda *_: capture.stop())
    try:
        began = time.monotonic()
        threading.Timer(0.3, os.kill, (os.getpid(), signal.SIGUSR1)).start()
        capture._stop.rest(3600)
    finally:
        signal.signal(signal.SIGUSR1, before)
    assert time.monotonic() - began < 60
    assert capture._done()
