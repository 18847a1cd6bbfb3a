"""What two threads or two processes decode in the time that one takes for its share.

Run: `python -m benchmarks.peers.workers FILE` prints, as JSON, how many times the speed of one
worker two of each kind have. It means something only where two cores are idle.
"""

from __future__ import annotations

import json
import multiprocessing
import queue
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from benchmarks.peers.ours import decode

PASSES = 5
ROUNDS = 3
_SPAWN = multiprocessing.get_context("spawn")

KINDS: dict[str, tuple[Callable[..., Any], Callable[..., Any], Callable[..., Any]]] = {
    "threads": (threading.Thread, threading.Barrier, queue.Queue),
    "processes": (_SPAWN.Process, _SPAWN.Barrier, _SPAWN.Queue),
}
"""For each kind of worker: what makes one, a barrier for them, and a queue for their results."""


def work(file: str, barrier: Any, results: Any) -> None:
    """Decodes the file several times, beginning when all workers are ready."""
    content = Path(file).read_bytes()
    decode(content)
    barrier.wait()
    began = time.monotonic()
    for _ in range(PASSES):
        decode(content)
    results.put((began, time.monotonic()))


def elapsed(file: str, kind: str, workers: int) -> float:
    """Seconds until the last of so many workers is done, each with its own passes."""
    make, make_barrier, make_queue = KINDS[kind]
    barrier, results = make_barrier(workers), make_queue()
    started = [make(target=work, args=(file, barrier, results)) for _ in range(workers)]
    for worker in started:
        worker.start()
    spans = [results.get() for _ in started]
    for worker in started:
        worker.join()
    return float(max(end for _, end in spans) - min(began for began, _ in spans))


def speed_of_two(file: str, kind: str) -> float:
    """How many times one worker's speed two have: the best of some rounds."""
    return max(2 * elapsed(file, kind, 1) / elapsed(file, kind, 2) for _ in range(ROUNDS))


if __name__ == "__main__":
    print(json.dumps({kind: speed_of_two(sys.argv[1], kind) for kind in KINDS}))
