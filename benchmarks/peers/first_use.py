"""The seconds in which a machine's first process compiles everything, and a later one starts.

A later process also finds Python's bytecode, if the first was able to write it.
"""

from __future__ import annotations

import os
import sys
import time
from pathlib import Path

from benchmarks.peers.programs import output

COMPILE = "from decoder.stream.precompile import warm; warm()"
NO_BYTECODE = "PYTHONDONTWRITEBYTECODE"
FIRST_BATCH = "import sys, decoder; next(decoder.read(open(sys.argv[1], 'rb').read()))"


def seconds_to_compile(cache: Path) -> float:
    """Return the seconds of a process that compiles every kernel into an empty cache."""
    return _seconds(COMPILE, {**os.environ, "BINLAKE_CACHE": str(cache)})


def seconds_to_start(file: Path, cache: Path) -> float:
    """Return the seconds of a process that ends after the file's first batch.

    `cache` is an empty folder for bytecode, since the packages' folders may not be writable.
    """
    kept = {name: value for name, value in os.environ.items() if name != NO_BYTECODE}
    environment = {**kept, "PYTHONPYCACHEPREFIX": str(cache)}
    _seconds(FIRST_BATCH, environment, str(file))
    return _seconds(FIRST_BATCH, environment, str(file))


def _seconds(program: str, environment: dict[str, str], *arguments: str) -> float:
    began = time.perf_counter()
    output([sys.executable, "-c", program, *arguments], environment)
    return time.perf_counter() - began
