"""Rounds in which every decoder runs once in turn, so that each meets the same machine."""

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
    """A program that takes part, in so many rounds at most."""

    program: Program
    rounds: int | None = None


@dataclass(slots=True)
class Run:
    """What the rounds over one file gave: passes by name, one per round, and what failed."""

    passes: dict[str, list[Pass]] = field(default_factory=dict)
    failures: dict[str, str] = field(default_factory=dict)


def run_rounds(
    entries: Mapping[str, Entry], file: Path, rounds: int, progress: Callable[[str], None]
) -> Run:
    """Every program over the file, in rounds; one that fails takes no part any more."""
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
    """This process and those that it starts meanwhile share the last of its cores."""
    before = os.sched_getaffinity(0)
    core = max(before)
    os.sched_setaffinity(0, {core})
    try:
        yield core
    finally:
        os.sched_setaffinity(0, before)
