"""Command lines of processes, which all users of a machine can read."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

PAUSE = 0.05


@contextmanager
def command_lines_with(*secrets: str) -> Iterator[list[str]]:
    """Poll the command lines during the `with`; the list collects those that contain one of
    these.
    """
    found: list[str] = []
    done = threading.Event()
    watching = threading.Thread(target=_watch, args=([s.encode() for s in secrets], found, done))
    watching.start()
    try:
        yield found
    finally:
        done.set()
        watching.join()


def _watch(secrets: Sequence[bytes], found: list[str], done: threading.Event) -> None:
    while not done.wait(PAUSE):
        for line in command_lines():
            if any(secret in line for secret in secrets):
                found.append(line.replace(b"\0", b" ").decode(errors="replace"))


def command_lines() -> Iterator[bytes]:
    """Return the arguments of each process, each followed by a zero byte."""
    for process in Path("/proc").glob("[0-9]*"):
        try:
            yield (process / "cmdline").read_bytes()
        except OSError:
            continue  # has ended
