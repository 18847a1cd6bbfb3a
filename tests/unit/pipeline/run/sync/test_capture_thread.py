"""The capture beside the rounds: its end is never silent, and it is started again if that helps."""

from __future__ import annotations

import threading
import time
from contextlib import nullcontext
from types import SimpleNamespace
from typing import Any

import pytest

from pipeline.errors import BinlakeError, SettingsError
from pipeline.run.sync import capture_thread
from pipeline.run.sync.capture_thread import CaptureThread
from pipeline.settings import Settings
from pipeline.source.capture.errors import FolderInUseError, PurgedError

SETTINGS = Settings.load(None, server="mysql://me@db", capture={"to": "/logs"}, lake="/lake")
RECORDS: Any = SimpleNamespace(failures=nullcontext)
PURGED = PurgedError(file="binlog.000001", position=4, first="binlog.000009", folder="/logs")


class FakeCapture:
    """A capture that ends as `endings` say: None runs until it is stopped."""

    endings: list[BaseException | None]
    started: list[Any]

    def __init__(self, settings: Any, *_: object, **__: object) -> None:
        self.started.append(settings)
        self._stopped = threading.Event()

    def run(self) -> None:
        ending = self.endings.pop(0)
        if ending is not None:
            raise ending
        assert self._stopped.wait(10)

    def stop(self) -> None:
        self._stopped.set()


@pytest.fixture
def endings(monkeypatch: pytest.MonkeyPatch) -> list[BaseException | None]:
    FakeCapture.endings, FakeCapture.started = [], []
    monkeypatch.setattr(capture_thread, "Capture", FakeCapture)
    return FakeCapture.endings


def ended(running: CaptureThread) -> None:
    """Wait until the capture's thread has ended."""
    patience = time.monotonic() + 10
    while running._thread is not None and running._thread.is_alive():
        assert time.monotonic() < patience
        time.sleep(0.01)


@pytest.mark.parametrize("error", [FolderInUseError("/logs"), PURGED, ValueError("a bug")])
def test_the_error_that_ends_a_capture_is_raised_and_the_next_look_starts_it_again(
    error: Exception, endings: list[BaseException | None]
) -> None:
    endings += [error, None]
    running = CaptureThread(SETTINGS, RECORDS)
    assert not running.tend()
    ended(running)
    with pytest.raises(type(error)) as raised:
        running.tend()
    assert raised.value is error
    assert [running.tend(), running.tend()] == [False, True]
    assert [one.forever for one in FakeCapture.started] == [True, True]
    running.end()


def test_ending_waits_for_the_capture_and_raises_what_went_wrong_in_it(
    endings: list[BaseException | None],
) -> None:
    endings += [BinlakeError("The disk is full.")]
    running = CaptureThread(SETTINGS, RECORDS)
    running.end()
    running.tend()
    ended(running)
    with pytest.raises(BinlakeError, match="disk is full"):
        running.end()


def test_a_capture_without_a_server_is_a_mistake_in_the_settings() -> None:
    with pytest.raises(SettingsError, match=r"server\.host"):
        CaptureThread(Settings.load(None, capture={"to": "/logs"}), RECORDS).tend()
