"""Rounds in which every decoder runs once in turn, so that all run under the same load."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from benchmarks.peers.counts import Pass, ProgramError
from benchmarks.peers.programs import Program


@dataclass(frozen=True, slots=True)
class Entry:
    """A program to run, in at most `rounds` rounds."""

    program: Program
    rounds: int | None = None


@dataclass(slots=True)
class Run:
    """The results of one file: by name, a pass per round, or the reason of a failure."""

    passes: dict[str, list[Pass]] = field(default_factory=dict)
    failures: dict[str, str] = field(default_factory=dict)


def run_rounds(
    entries: Mapping[str, Entry], file: Path, rounds: int, progress: Callable[[str], None]
) -> Run:
    """Run every program on the file, in rounds; a program that fails is not run again."""
    run = Run()
    for number in range(rounds):
        for name, entry in entries.items():
            if name in run.failures or number >= (entry.rounds or rounds):
                continue
            try:
                done = entry.program.run(file)
            except (ProgramError, subprocess.CalledProcessError) as error:
                run.failures[name] = str(error)
                progress(f"round {number + 1}: {name} failed: {error}")
            else:
                run.passes.setdefault(name, []).append(done)
                progress(f"round {number + 1}: {name}: {done.seconds:.3f} s")
    return run


@contextmanager
def one_core() -> Iterator[int]:
    """Pin this process, and those that it starts in the `with` block, to its last core."""
    before = os.sched_getaffinity(0)
    core = max(before)
    os.sched_setaffinity(0, {core})
    try:
        yield core
    finally:
        os.sched_setaffinity(0, before)
