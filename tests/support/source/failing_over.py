"""Servers that captures fail over between, and what tests check in between."""

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
    CREATE TABLE keyless (n INT);
"""
"""The tables that `insert` writes to."""


def started(factory: MySQLFactory | MariaDBFactory, count: int) -> list[Server]:
    """Return empty servers that log the transactions they replicate.

    A module's tests share them, reset: starting a server takes longer than most of the tests.
    """
    keep = "--log-replica-updates" if isinstance(factory, MySQLFactory) else "--log-slave-updates"
    # Commits survive a kill; otherwise the server would come back with a log that is ahead of its
    # data.
    kept = (keep, "--innodb-flush-log-at-trx-commit=2")
    found = [factory.running(f"--server-id={11 + number}", *kept) for number in range(count)]
    used = [server for server, was_there in found if was_there]
    for server in used:  # for all, before any of them drops what the others would also drop
        promote(server)
    for server in used:
        server.execute("SET sql_log_bin = 0; DROP DATABASE IF EXISTS shop")
        server.reset_logs()
        if isinstance(factory, MariaDBFactory):
            server.execute("SET GLOBAL gtid_slave_pos = ''")
    return [server for server, _ in found]


def insert(server: Server, number: int) -> None:
    """Run a transaction of one row."""
    server.execute(f"INSERT INTO shop.keyless VALUES ({number})")


def state_of(landed: Path) -> CaptureState:
    """Return the recorded state of a capture."""
    state = read_state(landed)
    assert state is not None
    return state


def has_all(landed: Path, server: Server) -> bool:
    """True if a capture has reached the end of a server's log."""
    state = read_state(landed)
    last = server.binlogs()[-1]
    return state is not None and (state.file, state.position) == (last.name, last.stat().st_size)
