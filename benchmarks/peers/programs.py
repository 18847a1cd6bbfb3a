"""Decoders as programs: those that report their counts, and mysqlbinlog, which prints rows."""

from __future__ import annotations

import subprocess
import time
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Protocol

from benchmarks.peers.counts import Counts, Pass, ProgramError, parse_passes

CHUNK = 1 << 20
EVENT, CELL = b"\n# at ", b"\n###   @"
IMAGES = (b"\n### WHERE", b"\n### SET")


class Program(Protocol):
    """A decoder that can be run."""

    def run(self, file: Path) -> Pass:
        """Decode the file; return the fastest pass. Raises ProgramError."""


@dataclass(frozen=True, slots=True)
class Reporting:
    """A program `command FILE PASSES …` that reads the file into memory and reports each pass.

    The fastest pass counts, since the first ones load or compile code.
    """

    command: tuple[str, ...]
    passes: int
    arguments: tuple[str, ...] = ()
    environment: Mapping[str, str] | None = None

    def run(self, file: Path) -> Pass:
        """Decode the file `passes` times; return the fastest pass. Raises ProgramError."""
        command = [*self.command, str(file), str(self.passes), *self.arguments]
        printed = output(command, self.environment)
        return min(parse_passes(printed), key=lambda done: done.seconds)


@dataclass(slots=True)
class Printing:
    """mysqlbinlog: `command FILE` prints every row; its output is counted once per file.

    The whole process is timed, with its output discarded and the file in the page cache.
    """

    command: tuple[str, ...]
    _counted: dict[Path, Counts] = field(default_factory=dict)

    def run(self, file: Path) -> Pass:
        """Print the file; return the time. Raises ProgramError, CalledProcessError."""
        command = [*self.command, str(file)]
        if file not in self._counted:
            self._counted[file] = self._count(command)
        began = time.perf_counter()
        subprocess.run(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=True)
        return Pass(self._counted[file], time.perf_counter() - began)

    def _count(self, command: list[str]) -> Counts:
        with subprocess.Popen(
            command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
        ) as process:
            assert process.stdout is not None
            counts = count_printed(iter(partial(process.stdout.read, CHUNK), b""))
        if process.returncode:
            raise ProgramError(f"{command[-2]} ended with {process.returncode} after {counts}")
        return counts


def count_printed(chunks: Iterable[bytes]) -> Counts:
    """Count mysqlbinlog's comments, of which it prints one per event, image and cell."""
    events = images = cells = 0
    rest = b"\n"
    for chunk in chunks:
        text = rest + chunk
        end = text.rfind(b"\n")
        rest, text = text[end:], text[:end]
        events += text.count(EVENT)
        images += sum(text.count(image) for image in IMAGES)
        cells += text.count(CELL)
    events += rest.count(EVENT)
    return Counts(events, images + sum(map(rest.count, IMAGES)), cells + rest.count(CELL))


def output(command: list[str], environment: Mapping[str, str] | None = None) -> str:
    """Run a command; return its standard output.

    Raises ProgramError with the last line of its standard error.
    """
    done = subprocess.run(command, capture_output=True, text=True, check=False, env=environment)
    if done.returncode:
        lines = (done.stderr or done.stdout).strip().splitlines() or ["no message"]
        raise ProgramError(f"{' '.join(command[:3])} failed: {lines[-1]}")
    return done.stdout
