"""Cancellation of tasks in this process after an error or a signal."""

from __future__ import annotations

import os
import signal
import threading
import time
from pathlib import Path
from typing import Any

import pytest

from pipeline.source.logs.storage import read_windows
from pipeline.spark.engine import LocalEngine


def read_forever(path: str) -> int:
    with Path(path).open("rb") as stream:
        return sum(len(window) for window in read_windows(stream, None))


def failing_or_forever(path: str) -> int:
    if not path:
        raise ValueError("no path")
    return read_forever(path)


def working() -> list[threading.Thread]:
    return [t for t in threading.enumerate() if t.name.startswith("ThreadPoolExecutor")]


def test_all_tasks_are_cancelled_when_one_fails() -> None:
    began, before = time.monotonic(), working()
    with pytest.raises(ValueError, match="no path"):
        LocalEngine(3).run(failing_or_forever, ["/dev/zero", "/dev/zero", "", "/dev/zero"])
    assert time.monotonic() - began < 5
    assert set(working()) <= set(before)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM], ids=["Ctrl-C", "SIGTERM"])
def test_all_tasks_are_cancelled_after_a_signal(number: signal.Signals) -> None:
    def interrupted(*_: Any) -> None:
        raise KeyboardInterrupt

    handler = signal.signal(number, interrupted)
    timer = threading.Timer(0.5, os.kill, (os.getpid(), number))
    before = working()
    try:
        timer.start()
        with pytest.raises(KeyboardInterrupt):
            LocalEngine(2).run(read_forever, ["/dev/zero"] * 5)
    finally:
        timer.cancel()
        signal.signal(number, handler)
    assert set(working()) <= set(before)
