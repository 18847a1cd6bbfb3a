"""The decoder on a CPU without carry-less multiplication (PCLMULQDQ): speed and results.

`python -m benchmarks.peers.folding FILE` writes all batches to standard output, each as a separate
Arrow stream, which `same_results` compares.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from io import BufferedReader
from itertools import zip_longest
from pathlib import Path
from typing import IO

import pyarrow as pa
from llvmlite.binding import get_host_cpu_features

import decoder
from benchmarks.peers.counts import ProgramError

FOLDING = ("pclmul", "vpclmulqdq")


def without_folding(cache: Path) -> dict[str, str]:
    """Return the environment of a process whose kernels use no carry-less multiplication."""
    features = get_host_cpu_features()
    for name in FOLDING:
        features[name] = False
    return {**os.environ, "NUMBA_CPU_FEATURES": features.flatten(), "BINLAKE_CACHE": str(cache)}


def same_results(file: Path, environment: dict[str, str]) -> bool:
    """Return True if processes with this environment and with ours decode a file equally."""
    with batches(file, dict(os.environ)) as ours, batches(file, environment) as others:
        return same_tables(ours, others)


def same_tables(one: Iterator[pa.Table], other: Iterator[pa.Table]) -> bool:
    """Return True if both sequences have the same tables, at least one."""
    count = 0
    for left, right in zip_longest(one, other):
        if left is None or right is None or not left.equals(right):
            return False
        count += 1
    return count > 0


@contextmanager
def batches(file: Path, environment: dict[str, str]) -> Iterator[Iterator[pa.Table]]:
    """Decode the file in another process; yield its batches. Raises ProgramError."""
    command = [sys.executable, "-m", __name__, str(file)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, env=environment) as process:
        assert process.stdout is not None
        with open(process.stdout.fileno(), "rb", closefd=False) as stream:
            yield read(stream)
    if process.returncode:
        raise ProgramError(f"{' '.join(command[:3])} ended with {process.returncode}")


def read(source: BufferedReader) -> Iterator[pa.Table]:
    """Yield the tables that `write` wrote."""
    while source.peek(1):
        with pa.ipc.open_stream(source) as stream:
            yield stream.read_all()


def write(file: bytes, sink: IO[bytes]) -> None:
    """Decode a file and write each batch as a stream with its schema."""
    for changes in decoder.read(file):
        with pa.ipc.new_stream(sink, changes.batch.schema) as stream:
            stream.write_batch(changes.batch)


if __name__ == "__main__":
    write(Path(sys.argv[1]).read_bytes(), sys.stdout.buffer)
