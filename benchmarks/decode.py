"""Measure how fast the decoder turns whole binlog files into Arrow, on one core.

Run: `make bench`, or `python -m benchmarks.decode [PASSES]`. Files are in memory; everything is
decoded to final types (JSON as text, charsets), and every checksum is verified. For comparison, it
prints the bound: one pass of CRC32 and of memcpy over the same bytes.
"""

from __future__ import annotations

import sys
import time
import zlib
from collections.abc import Callable
from statistics import median

from rich.console import Console

import decoder
from benchmarks.workload import workload

PASSES = 5


def main() -> None:
    """Decode the recorded workload several times; print the median."""
    passes = int(sys.argv[1]) if len(sys.argv) > 1 else PASSES
    recording = workload()
    files = [file.read_bytes() for file in recording.binlogs]
    rows = decode(files)  # compiles, or loads, the kernels
    seconds = median(timed(lambda: decode(files)) for _ in range(passes))
    bound = median(timed(lambda: touch(files)) for _ in range(passes))
    screen = Console()
    screen.print(
        f"decode: {recording.size / 1e6:.0f} MB, {rows:,} changes in {seconds:.2f} s, one core: "
        f"{recording.size / 1e6 / seconds:.0f} MB/s, {rows / seconds:,.0f} rows/s"
    )
    screen.print(
        f"bound (CRC32 by zlib and memcpy): {bound:.2f} s; decode takes {seconds / bound:.1f} times"
    )


def decode(files: list[bytes]) -> int:
    """Decode the files; return the number of changes."""
    return sum(changes.batch.num_rows for file in files for changes in decoder.read(file))


def touch(files: list[bytes]) -> int:
    """Checksum and copy every byte."""
    return sum(zlib.crc32(file) + len(bytearray(file)) for file in files)


def timed(work: Callable[[], object]) -> float:
    """Return the seconds that `work` takes."""
    began = time.perf_counter()
    work()
    return time.perf_counter() - began


if __name__ == "__main__":
    main()
