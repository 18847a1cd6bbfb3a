"""Servers between which captures change, and what is looked at in between."""

from __future__ import annotations

from pathlib import Path

from pipeline.capture.state import CaptureState, read_state
from tests.support.mariadb import MariaDBFactory
from tests.support.mysql import MySQLFactory
from tests.support.server import Server

TABLES = """
    CREATE DATABASE shop; USE shop;
    CREATE TABLE item (id INT PRIMARY KEY AUTO_INCREMENT, n INT);
    CREATE TABLE bag (n INT);
"""
"""What `insert` writes to."""


def started(factory: MySQLFactory | MariaDBFactory, count: int) -> list[Server]:
    """Servers that keep what they replicate in their logs, and have nothing yet."""
    servers: list[Server] = []
    keep = "--log-replica-updates" if isinstance(factory, MySQLFactory) else "--log-slave-updates"
    # What is committed outlives a kill, or the server comes back with a log that is ahead of it.
    kept = (keep, "--innodb-flush-log-at-trx-commit=2")
    for number in range(count):
        server = factory(f"--server-id={11 + number}", *kept)
        server.reset_logs()
        servers.append(server)
    return servers


def insert(server: Server, number: int) -> None:
    """A transaction with one row."""
    server.execute(f"INSERT INTO shop.bag VALUES ({number})")


def state_of(landed: Path) -> CaptureState:
    """What a capture has noted of itself."""
    state = read_state(landed)
    assert state is not None
    return state


def has_all(landed: Path, server: Server) -> bool:
    """Whether a capture is at the end of a server's log."""
    state = read_state(landed)
    last = server.binlogs()[-1]
    return state is not None and (state.file, state.position) == (last.name, last.stat().st_size)
