"""How long the first process of a machine takes to compile everything, and a later one to start.

A later one finds Python's bytecode too, which the first has written where it may.
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
    """Seconds of a process that compiles every kernel into an empty cache."""
    return _seconds(COMPILE, {**os.environ, "BINLAKE_CACHE": str(cache)})


def seconds_to_start(file: Path, cache: Path) -> float:
    """Seconds from the start of a process to its end behind the file's first batch.

    `cache` is an empty folder for bytecode, since it may not be written beside the packages.
    """
    kept = {name: value for name, value in os.environ.items() if name != NO_BYTECODE}
    environment = {**kept, "PYTHONPYCACHEPREFIX": str(cache)}
    _seconds(FIRST_BATCH, environment, str(file))
    return _seconds(FIRST_BATCH, environment, str(file))


def _seconds(program: str, environment: dict[str, str], *arguments: str) -> float:
    began = time.perf_counter()
    output([sys.executable, "-c", program, *arguments], environment)
    return time.perf_counter() - began
