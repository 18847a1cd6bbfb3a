"""The speed of two threads or two processes, compared with that of one.

`python -m benchmarks.peers.workers FILE` prints the ratio for each kind of worker as JSON. It is
meaningful only if two cores are idle.
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
"""By kind of worker: the classes of the worker, its barrier, and its queue for results."""


def work(file: str, barrier: Any, results: Any) -> None:
    """Decode the file several times, starting when all workers are ready."""
    content = Path(file).read_bytes()
    decode(content)
    barrier.wait()
    began = time.monotonic()
    for _ in range(PASSES):
        decode(content)
    results.put((began, time.monotonic()))


def elapsed(file: str, kind: str, workers: int) -> float:
    """Return the seconds until all workers have finished, each with `PASSES` passes."""
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
    """Return the speed of two workers divided by that of one: the best of some rounds."""
    return max(2 * elapsed(file, kind, 1) / elapsed(file, kind, 2) for _ in range(ROUNDS))


if __name__ == "__main__":
    print(json.dumps({kind: speed_of_two(sys.argv[1], kind) for kind in KINDS}))
