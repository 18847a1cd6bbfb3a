"""A real server whose binary logs are the files of a recording, byte for byte.

The server that wrote them no longer exists. A new server with these files in its index treats them
as its own, with their GTIDs, and sends them to replicas. So both programs, and `make bench`, read
the same bytes.
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
    """Run a server in `folder` with the recording's logs, and an empty one of its own."""
    server = MySQLServer(folder)
    server.start().stop()  # initializes its folder
    for log in server.binlogs():
        log.unlink()
    for log in recording.binlogs:
        shutil.copy(log, server.binlog_folder)
    index = server.binlog_folder / "binlog.index"
    index.write_text("".join(f"{server.binlog_folder / log.name}\n" for log in recording.binlogs))
    with server.start():
        yield server
