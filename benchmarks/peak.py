"""The largest resident set of any Python worker of this process, sampled while work goes on."""

from __future__ import annotations

import threading
from pathlib import Path
from types import TracebackType

PAGE = 4096
INTERVAL = 0.1


class WorkerPeak:
    """`with WorkerPeak() as peak: …`, then `peak.bytes`; Linux only, as it reads /proc."""

    def __init__(self) -> None:
        self.bytes = 0
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._sample, daemon=True)

    def __enter__(self) -> WorkerPeak:
        self._thread.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._over.set()
        self._thread.join()

    def _sample(self) -> None:
        while not self._over.wait(INTERVAL):
            for process in Path("/proc").glob("[0-9]*"):
                self.bytes = max(self.bytes, _worker_memory(process))


def _worker_memory(process: Path) -> int:
    try:
        if b"pyspark.daemon" not in (process / "cmdline").read_bytes():
            return 0
        return int((process / "statm").read_text().split()[1]) * PAGE
    except OSError:  # it ended between being listed and being read
        return 0
