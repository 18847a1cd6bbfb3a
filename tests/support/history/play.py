"""Play histories on a real server, with one connection for each session."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import pymysql

from tests.support.history.model import Step
from tests.support.servers.server import Server

_IMPATIENT = "SET SESSION lock_wait_timeout = 2, innodb_lock_wait_timeout = 2"
"""Lock timeouts, in seconds. Sessions wait for each other only if steps were omitted (`shrink`)."""


@dataclass(slots=True)
class Played:
    """The result of playing a history; statements that failed are part of it."""

    done: int = 0
    failed: list[tuple[Step, str]] = field(default_factory=list)


@contextmanager
def played(server: Server, steps: Iterable[Step]) -> Iterator[Played]:
    """Play the steps; finally, close the connections and roll back XA transactions."""
    connections: dict[str, pymysql.Connection[Any]] = {}
    result = Played()
    try:
        for step in steps:
            if step.session not in connections:
                connections[step.session] = server.connect()
                _execute(connections[step.session], _IMPATIENT)
            try:
                _execute(connections[step.session], step.sql)
                result.done += 1
            except pymysql.MySQLError as error:
                result.failed.append((step, str(error)))
        yield result
    finally:
        for connection in connections.values():
            connection.close()
        _roll_back_prepared(server)


@contextmanager
def settings(server: Server, **variables: str | int) -> Iterator[None]:
    """Set global variables for the duration of the `with`; they apply to new connections."""
    before = {name: server.execute(f"SELECT @@GLOBAL.{name}")[0][0] for name in variables}
    try:
        for name, value in variables.items():
            server.execute(f"SET GLOBAL {name} = %s", (value,))
        yield
    finally:
        for name, value in before.items():
            server.execute(f"SET GLOBAL {name} = %s", (value,))


def _execute(connection: pymysql.Connection[Any], sql: str) -> None:
    with connection.cursor() as cursor:
        cursor.execute(sql)
        cursor.fetchall()


def _roll_back_prepared(server: Server) -> None:
    for format_id, global_length, _, data in server.execute("XA RECOVER"):
        raw = data.encode() if isinstance(data, str) else data
        parts = f"X'{raw[:global_length].hex()}', X'{raw[global_length:].hex()}', {format_id}"
        server.execute(f"XA ROLLBACK {parts}")
