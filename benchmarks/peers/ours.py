"""Our decoder's program: it decodes a file in memory, and prints counts and seconds of each pass.

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
    """Decode everything; return the numbers of row images and cells."""
    images = cells = 0
    for changes in decoder.read(file):
        before, after = (changes.batch.column(name) for name in ("before", "after"))
        found = len(before) - before.null_count + len(after) - after.null_count
        images += found
        cells += found * after.type.num_fields
    return images, cells


def framed(file: bytes) -> Frames:
    """Frame the file's events without verifying checksums; offsets are relative to the file."""
    buffer = np.frombuffer(bytearray(file), np.uint8)
    return frame(buffer, len(MAGIC), len(buffer), base=0, checksum=False, verify=False)


def timed_decode(file: bytes) -> float:
    """Return the seconds to decode the file."""
    began = time.perf_counter()
    decode(file)
    return time.perf_counter() - began


def main() -> None:
    """Decode FILE, the first argument, PASSES times, the second argument."""
    file = Path(sys.argv[1]).read_bytes()
    counts = Counts(len(framed(file)), *decode(file))
    for _ in range(int(sys.argv[2])):
        line = {"events": counts.events, "images": counts.images, "cells": counts.cells}
        print(json.dumps({**line, "seconds": timed_decode(file)}), flush=True)


if __name__ == "__main__":
    main()
