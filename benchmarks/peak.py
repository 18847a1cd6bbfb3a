"""Peak resident sets of this process and of Spark's Python workers."""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

PAGE = 4096
INTERVAL = 0.1


@dataclass(slots=True)
class Peaks:
    """Peak bytes of this process without its children, and of the largest Python worker."""

    own: int = 0
    worker: int = 0

    @property
    def largest(self) -> int:
        """The larger of the two: with local threads, all tasks run in this process."""
        return max(self.own, self.worker)

    def __str__(self) -> str:
        return f"{self.own / 1e6:,.0f} MB in this process, {self.worker / 1e6:,.0f} MB in a worker"


@contextmanager
def sampled() -> Iterator[Peaks]:
    """Sample both until the end of the `with` block. Linux only, as it reads /proc."""
    peaks, ended = Peaks(), threading.Event()
    thread = threading.Thread(target=_sample, args=(peaks, ended), daemon=True)
    thread.start()
    try:
        yield peaks
    finally:
        ended.set()
        thread.join()


def _sample(peaks: Peaks, ended: threading.Event) -> None:
    own = Path("/proc", str(os.getpid()))
    while not ended.wait(INTERVAL):
        peaks.own = max(peaks.own, _resident(own))
        for process in Path("/proc").glob("[0-9]*"):
            if _is_worker(process):
                peaks.worker = max(peaks.worker, _resident(process))


def _is_worker(process: Path) -> bool:
    try:
        return b"pyspark.daemon" in (process / "cmdline").read_bytes()
    except OSError:  # the process ended after it was listed
        return False


def _resident(process: Path) -> int:
    try:
        return int((process / "statm").read_text().split()[1]) * PAGE
    except OSError:  # as above
        return 0
