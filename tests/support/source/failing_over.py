"""Servers between which captures change, and what is looked at in between."""

from __future__ import annotations

from pathlib import Path

from pipeline.source.capture.state import CaptureState, read_state
from tests.support.servers.mariadb import MariaDBFactory
from tests.support.servers.mysql import MySQLFactory
from tests.support.servers.replicas import promote
from tests.support.servers.server import Server

TABLES = """
    CREATE DATABASE shop; USE shop;
    CREATE TABLE item (id INT PRIMARY KEY AUTO_INCREMENT, n INT);
    CREATE TABLE bag (n INT);
"""
"""What `insert` writes to."""


def started(factory: MySQLFactory | MariaDBFactory, count: int) -> list[Server]:
    """Servers that keep what they replicate in their logs, and have nothing yet.

    A module's tests get the same ones, emptied: starting one takes longer than most of the tests.
    """
    keep = "--log-replica-updates" if isinstance(factory, MySQLFactory) else "--log-slave-updates"
    # What is committed outlives a kill, or the server comes back with a log that is ahead of it.
    kept = (keep, "--innodb-flush-log-at-trx-commit=2")
    found = [factory.running(f"--server-id={11 + number}", *kept) for number in range(count)]
    used = [server for server, was_there in found if was_there]
    for server in used:  # before any of them drops what the others would drop with it
        promote(server)
    for server in used:
        server.execute("SET sql_log_bin = 0; DROP DATABASE IF EXISTS shop")
        server.reset_logs()
        if isinstance(factory, MariaDBFactory):
            server.execute("SET GLOBAL gtid_slave_pos = ''")
    return [server for server, _ in found]


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
