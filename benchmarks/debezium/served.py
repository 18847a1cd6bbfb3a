"""A recording, served: a real server whose binary logs are the recorded files, byte for byte.

The server that wrote them is gone. Another one that finds them listed in its index takes them for
its own, with their GTIDs, and sends them to whoever asks for them, as it would send those that it
wrote itself. So both sides have the same bytes, and `make bench` too.
"""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from benchmarks.workload import Recording
from tests.support.servers.mysql import MySQLServer


@contextmanager
def served(recording: Recording, folder: Path) -> Iterator[MySQLServer]:
    """A server in `folder` with the recording's logs, and one of its own that is empty."""
    server = MySQLServer(folder)
    server.start().stop()  # which fills its folder
    for log in server.binlogs():
        log.unlink()
    for log in recording.binlogs:
        shutil.copy(log, server.binlog_folder)
    index = server.binlog_folder / "binlog.index"
    index.write_text("".join(f"{server.binlog_folder / log.name}\n" for log in recording.binlogs))
    with server.start():
        yield server
