"""Server versions, as in VERSION() and in the first event of a log, and what depends on them."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pymysql.connections import Connection

_VERSION = re.compile(r"(\d+)\.(\d+)\.(\d+)")
_MARIADB_PREFIX = "5.5.5-"
"""Prefix of MariaDB's version, for replication clients that expect a version 5."""


@dataclass(frozen=True, slots=True)
class ServerVersion:
    """A server's product and version (major, minor, patch); `text` is the server's own form."""

    number: tuple[int, int, int]
    is_mariadb: bool = False
    text: str = ""

    @classmethod
    def read(cls, text: str) -> ServerVersion:
        """Parse a text such as `8.0.45-log` or `10.11.8-MariaDB`. Raises ValueError."""
        number, is_mariadb = _numbers(text)
        if number is None:
            raise ValueError(f"{text!r} is not a server version")
        return cls(number, is_mariadb, text)

    @property
    def name(self) -> str:
        """`MySQL 9.7.0`, or `MariaDB 10.11.8`."""
        return f"{'MariaDB' if self.is_mariadb else 'MySQL'} {'.'.join(map(str, self.number))}"

    @property
    def log_status_statement(self) -> str:
        """The statement that shows the log's position; MySQL 8.4 removed the old name."""
        is_new = self.since(mysql=(8, 2), mariadb=None)
        return "SHOW BINARY LOG STATUS" if is_new else "SHOW MASTER STATUS"

    @property
    def replica_status_statement(self) -> str:
        """The statement that shows a row per replication source.

        MySQL 8.4 removed the old name; on MariaDB only ALL covers every named connection.
        """
        if self.is_mariadb:
            return "SHOW ALL SLAVES STATUS"
        is_new = self.since(mysql=(8, 0, 22), mariadb=None)
        return "SHOW REPLICA STATUS" if is_new else "SHOW SLAVE STATUS"

    def since(self, *, mysql: tuple[int, ...] | None, mariadb: tuple[int, ...] | None) -> bool:
        """Return True if it has its product's minimum version; None: no version of that has it."""
        first = mariadb if self.is_mariadb else mysql
        return first is not None and self.number >= first


def server_number(version: str) -> tuple[int | None, bool]:
    """Return MySQL's number of a version (`8.0.45-log` is 80045), and True if it is MariaDB's."""
    number, is_mariadb = _numbers(version)
    if number is None:
        return None, is_mariadb
    major, minor, patch = number
    return major * 10000 + minor * 100 + patch, is_mariadb


def server_version(connection: Connection[Any]) -> ServerVersion:
    """Query the server's version."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT VERSION()")
        ((text,),) = cursor.fetchall()
    return ServerVersion.read(text)


def _numbers(text: str) -> tuple[tuple[int, int, int] | None, bool]:
    is_mariadb = "mariadb" in text.lower()
    match = _VERSION.match(text.removeprefix(_MARIADB_PREFIX) if is_mariadb else text)
    if match is None:
        return None, is_mariadb
    major, minor, patch = map(int, match.groups())
    return (major, minor, patch), is_mariadb
