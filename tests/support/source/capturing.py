"""Captures of real servers: in this process, or as a separate command that can be killed."""

from __future__ import annotations

import hashlib
import os
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from decoder.constants import EventFlag
from decoder.segments.log_windows import FLAGS_POSITION, has_in_use_flag
from pipeline.settings.capture import CaptureSettings
from pipeline.source import Capture
from pipeline.source.capture.state import CaptureState
from pipeline.source.server.login import Login
from tests.support.servers.server import Server

REPOSITORY = Path(__file__).parent.parent.parent.parent


def login_of(server: Server) -> Login:
    """Return a login as root, over the socket."""
    return Login("localhost", "root", socket=str(server.socket))


def capture(server: Server, to: Path, **settings: Any) -> CaptureState:
    """Capture until caught up."""
    return Capture(CaptureSettings(to=str(to), **settings), login_of(server)).run()


def differing(server: Server, to: Path, *, first: int = 0, end: int | None = None) -> list[str]:
    """Return the server's files, from `first` to before `end`, whose sha256 differs from the landed
    file.
    """
    logs = server.binlogs()[first:end]
    return [log.name for log in logs if sha256(log) != sha256(to / log.name)]


def sha256(file: Path) -> str:
    """Return the sha256 of a file; of no bytes if it does not exist."""
    return hashlib.sha256(file.read_bytes() if file.exists() else b"").hexdigest()


def begins_like(landed: Path, log: Path) -> bool:
    """True if the landed bytes are a prefix of the server's file, except for its in-use flag."""
    return _without_flag(log).startswith(_without_flag(landed))


def differing_in_content(server: Server, to: Path) -> list[str]:
    """Return the server's files that differ from the landed ones beyond the in-use flag.

    The last file may grow meanwhile: MariaDB logs there when a checkpoint is complete.
    """
    *closed, last = server.binlogs()
    different = [log for log in closed if _without_flag(log) != _without_flag(to / log.name)]
    return [log.name for log in different] + [last.name] * (not begins_like(to / last.name, last))


def is_in_use(log: Path) -> bool:
    """True if a file's in-use flag is set."""
    with log.open("rb") as file:
        beginning = file.read(FLAGS_POSITION + 1)
    return has_in_use_flag(beginning) and bool(beginning[-1] & EventFlag.BINLOG_IN_USE)


def _without_flag(log: Path) -> bytes:
    content = bytearray(log.read_bytes() if log.exists() else b"")
    if has_in_use_flag(bytes(content[: FLAGS_POSITION + 1])):
        content[FLAGS_POSITION] &= 0xFF ^ EventFlag.BINLOG_IN_USE
    return bytes(content)


@contextmanager
def capturing(
    server: Server, to: Path, login: Login | None = None, **settings: Any
) -> Iterator[Capture]:
    """Run an endless capture in a thread, until the end of the `with`.

    Connects as root unless `login` is given: after a restart the socket is a different one.
    """
    wanted = CaptureSettings(to=str(to), forever=True, **settings)
    running = Capture(wanted, login or login_of(server))
    errors: list[BaseException] = []
    thread = threading.Thread(target=_run, args=(running, errors))
    thread.start()
    try:
        yield running
    finally:
        running.stop()
        thread.join(60)
    assert not thread.is_alive()
    if errors:
        raise errors[0]


def _run(running: Capture, errors: list[BaseException]) -> None:
    try:
        running.run()
    except BaseException as error:
        errors.append(error)


def command(server: Server, to: Path, *options: str) -> subprocess.Popen[bytes]:
    """Start `binlake capture`."""
    conf = to.parent / f"{to.name}.yml"
    conf.write_text(f"server: {{socket: {server.socket}, user: root}}\ncapture: {{to: {to}}}\n")
    return subprocess.Popen(
        [sys.executable, "-m", "pipeline.cli", "capture", "--conf", str(conf), *options],
        env={**os.environ, "PYTHONPATH": str(REPOSITORY)},
        cwd=to.parent,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )


def eventually(holds: Callable[[], bool], seconds: float = 60) -> None:
    """Wait until `holds` returns True; raise AssertionError after `seconds`."""
    until = time.monotonic() + seconds
    while not holds():
        assert time.monotonic() < until, "it does not come to hold"
        time.sleep(0.02)
