"""The lower bound of the time to verify and copy a log: one pass of CRC32 and of memcpy.

Three passes are timed: CRC32 of every event by the decoder's own kernel, CRC32 of the whole file by
zlib, and a copy of the file.
"""

from __future__ import annotations

import time
import zlib
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from benchmarks.peers.ours import framed
from decoder.framing.frames import HeaderField
from decoder.kernels.crc32 import TABLES, crc32
from decoder.kernels.memory import Array, Bytes, kernel


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


@kernel
def crc32_of_events(buffer: Bytes, offsets: HeaderField, ends: HeaderField, tables: Array) -> int:
    """Return the XOR of the CRC32s of all events, each without its own checksum field."""
    combined = 0
    for event in range(len(offsets)):
        combined ^= crc32(buffer, offsets[event], ends[event], tables)
    return combined


class BoundPasses:
    """The passes over a file in memory, ready to run."""

    def __init__(self, file: bytes) -> None:
        frames = framed(file)
        self._file = file
        self._buffer = np.frombuffer(bytearray(file), np.uint8)
        self._target = np.zeros_like(self._buffer)
        self._offsets, self._ends = frames.offset.copy(), frames.end.copy()

    def run(self) -> Bound:
        """Run each pass once."""
        return Bound(
            crc32=seconds(self._crc32),
            zlib=seconds(lambda: zlib.crc32(self._file)),
            memcpy=seconds(lambda: np.copyto(self._target, self._buffer)),
        )

    def _crc32(self) -> None:
        crc32_of_events(self._buffer, self._offsets, self._ends, TABLES)


def seconds(work: Callable[[], object]) -> float:
    """Return the seconds that `work` takes."""
    began = time.perf_counter()
    work()
    return time.perf_counter() - began
