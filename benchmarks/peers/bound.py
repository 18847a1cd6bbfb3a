"""What no decoder that verifies and copies can beat: one pass of CRC32 and memcpy over the events.

Run: `python -m benchmarks.peers.bound FILE PASSES` prints seconds of three passes as JSON: CRC32 of
every event by the decoder's own kernel, CRC32 of the file by zlib, and a copy of the file.
"""

from __future__ import annotations

import json
import sys
import time
import zlib
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np

from benchmarks.peers.ours import framed
from benchmarks.peers.programs import output
from decoder.crc32 import TABLES, crc32
from decoder.framing import Column
from decoder.memory import Array, Bytes, kernel

PASSES = 5


@dataclass(frozen=True, slots=True)
class Bound:
    """Seconds of each pass."""

    crc32: float
    zlib: float
    memcpy: float

    @property
    def seconds(self) -> float:
        """CRC32 by the decoder's kernel, and the copy."""
        return self.crc32 + self.memcpy

    @property
    def with_zlib(self) -> float:
        """CRC32 by zlib, and the copy."""
        return self.zlib + self.memcpy


def run_bound(file: Path) -> Bound:
    """The bound, measured in a process of its own. Raises ProgramError."""
    command = [sys.executable, "-m", __name__, str(file), str(PASSES)]
    return Bound(**json.loads(output(command)))


@kernel
def crc32_of_events(buffer: Bytes, offsets: Column, ends: Column, tables: Array) -> int:
    """The CRC32 of each event without the checksum behind it, all of them combined."""
    combined = 0
    for event in range(len(offsets)):
        combined ^= crc32(buffer, offsets[event], ends[event], tables)
    return combined


def fastest(work: Callable[[], object], passes: int) -> float:
    """Seconds of the fastest pass; one before them does not count."""
    work()
    seconds = []
    for _ in range(passes):
        began = time.perf_counter()
        work()
        seconds.append(time.perf_counter() - began)
    return min(seconds)


def measure(file: bytes, passes: int) -> Bound:
    """The three passes over a file in memory."""
    frames = framed(file)
    buffer = np.frombuffer(bytearray(file), np.uint8)
    offsets, ends = frames.offset.copy(), frames.end.copy()
    target = np.zeros_like(buffer)
    return Bound(
        crc32=fastest(lambda: crc32_of_events(buffer, offsets, ends, TABLES), passes),
        zlib=fastest(lambda: zlib.crc32(file), passes),
        memcpy=fastest(lambda: np.copyto(target, buffer), passes),
    )


if __name__ == "__main__":
    print(json.dumps(asdict(measure(Path(sys.argv[1]).read_bytes(), int(sys.argv[2])))))
