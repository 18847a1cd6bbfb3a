"""Our decoder over a file in memory, as often as asked: a line of counts and seconds per pass.

Run: `python -m benchmarks.peers.ours FILE PASSES`. Everything is decoded to final Arrow types:
charsets, JSON as text, times; every checksum is verified.
"""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path

import numpy as np

import decoder
from benchmarks.peers.counts import Counts
from decoder.constants import MAGIC
from decoder.framing.frames import Frames, frame


def decode(file: bytes) -> tuple[int, int]:
    """Decodes everything; the numbers of row images and of cells."""
    images = cells = 0
    for changes in decoder.read(file):
        before, after = (changes.batch.column(name) for name in ("before", "after"))
        found = len(before) - before.null_count + len(after) - after.null_count
        images += found
        cells += found * after.type.num_fields
    return images, cells


def framed(file: bytes) -> Frames:
    """The file's events, checksums not verified; their offsets are those in the file."""
    buffer = np.frombuffer(bytearray(file), np.uint8)
    return frame(buffer, len(MAGIC), len(buffer), base=0, checksum=False, verify=False)


def timed_decode(file: bytes) -> float:
    """Seconds to decode the file."""
    began = time.perf_counter()
    decode(file)
    return time.perf_counter() - began


def main() -> None:
    """Decode the file named first as often as the second argument says."""
    file = Path(sys.argv[1]).read_bytes()
    counts = Counts(len(framed(file)), *decode(file))
    for _ in range(int(sys.argv[2])):
        line = {"events": counts.events, "images": counts.images, "cells": counts.cells}
        print(json.dumps({**line, "seconds": timed_decode(file)}), flush=True)


if __name__ == "__main__":
    main()
