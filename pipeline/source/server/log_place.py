"""Places in a server's log around what is read of its tables, without a lock on who writes.

A transaction is in the log before other sessions see its rows. So the log's end is no place of
which all before it can be read: `settled` gives one of which it can, and `end` one behind which
there is nothing that was read. Of MySQL with GTIDs that is the end, once every transaction that was
being committed there has been; without them, the beginning of the log's last file, since the server
begins a file only when all before it are committed (`MYSQL_BIN_LOG::new_file_impl` in
sql/binlog.cc). MariaDB tells the place of a snapshot by itself
(https://mariadb.com/kb/en/enhancements-for-start-transaction-with-consistent-snapshot/).
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any, NamedTuple

from pipeline.source.server.errors import ServerError
from pipeline.source.server.version import ServerVersion

if TYPE_CHECKING:
    from pymysql.connections import Connection

BEGINNING = 4
"""The position of a log's first event, behind its magic number."""
PATIENCE_SECONDS = 300
"""The longest that transactions are waited for that are being committed."""
PAUSE_SECONDS = 0.01


def as_text(value: object) -> str:
    """A driver may give names and numbers as bytes."""
    return value.decode() if isinstance(value, bytes) else str(value)


def owned_gtids(text: str) -> Iterator[str]:
    """The GTIDs of @@gtid_owned: `uuid:1#9:2#8:tag:1#7,uuid:…`, with the threads that have them."""
    for source in filter(None, text.replace("\n", "").split(",")):
        uuid, *parts = source.strip().split(":")
        tag = ""
        for part in parts:
            number, owner, _ = part.partition("#")
            if owner:
                yield f"{uuid}:{tag}{number}"
            else:
                tag = f"{part}:"


class LogPlace(NamedTuple):
    """A file of a server's log, and a position in it."""

    file: str
    position: int


class NoPlaceError(ServerError):
    """The server tells no place in its log, or none that all before it can be read of."""


class Places:
    """Asks for places over a connection of its own, in autocommit mode.

    `address` and `user` are for errors.
    """

    def __init__(
        self, connection: Connection[Any], version: ServerVersion, *, address: str, user: str
    ) -> None:
        self._connection = connection
        self._version = version
        self._named = {"address": address, "user": user}

    def end(self) -> LogPlace:
        """The log's end: what anybody has seen by now is before it. Raises NoPlaceError."""
        rows = self._rows(self._version.log_status_statement)
        if not rows:
            raise NoPlaceError(
                "the server writes no binary log.",
                remedy="Set log_bin: binlake check says how.",
                **self._named,
            )
        return LogPlace(as_text(rows[0][0]), int(rows[0][1]))

    def executed(self) -> str:
        """The transactions that are in its log, as a set of GTIDs; empty without them."""
        if self._version.is_mariadb:
            return self._value("SELECT @@GLOBAL.gtid_binlog_state")
        if self._value("SELECT @@GLOBAL.gtid_mode") != "ON":
            return ""
        return self._value("SELECT @@GLOBAL.gtid_executed").replace("\n", "")

    def log_now(self) -> dict[str, int]:
        """What tells the log that is written now from another with files of the same names: its
        `server_id`, and when that is (`at`, seconds since 1970 by the server's clock)."""
        ((server_id, at),) = self._rows("SELECT @@GLOBAL.server_id, UNIX_TIMESTAMP()")
        return {"server_id": int(as_text(server_id)), "at": int(float(as_text(at)))}

    def settled(self) -> LogPlace:
        """A place of which everything before it is seen by whoever reads from now on.

        Raises NoPlaceError.
        """
        if self._version.is_mariadb:
            try:
                return self.begin_snapshot()
            finally:
                self._run("ROLLBACK")
        place = self.end()
        if self._value("SELECT @@GLOBAL.gtid_mode") != "ON":
            return LogPlace(place.file, BEGINNING)
        self._wait_for(self._committing())
        return place

    def begin_snapshot(self) -> LogPlace:
        """Begin a transaction on MariaDB: the place that it sees everything before, nothing behind.

        Raises NoPlaceError.
        """
        self._run("START TRANSACTION WITH CONSISTENT SNAPSHOT")
        told = {
            as_text(name): as_text(value)
            for name, value in self._rows("SHOW STATUS LIKE 'binlog_snapshot_%'")
        }
        file = told.get("Binlog_snapshot_file")
        if not file:
            self.end()
            raise NoPlaceError(
                "the server does not tell the place of a snapshot.",
                remedy="Use MariaDB 5.3 or newer.",
                **self._named,
            )
        return LogPlace(file, int(told["Binlog_snapshot_position"]))

    def _committing(self) -> frozenset[str]:
        """The GTIDs of transactions that may be in the log, and not be seen yet."""
        return frozenset(owned_gtids(self._value("SELECT @@GLOBAL.gtid_owned")))

    def _wait_for(self, gtids: frozenset[str], sleep: Callable[[float], None] = time.sleep) -> None:
        until = time.monotonic() + PATIENCE_SECONDS
        while gtids := gtids & self._committing() if gtids else gtids:
            if time.monotonic() > until:
                raise NoPlaceError(
                    f"{min(gtids)} has been being committed for {PATIENCE_SECONDS} seconds.",
                    remedy="Look at who commits it (SHOW PROCESSLIST), and run it again.",
                    **self._named,
                )
            sleep(PAUSE_SECONDS)

    def _value(self, query: str) -> str:
        return as_text(self._rows(query)[0][0] or "")

    def _run(self, statement: str) -> None:
        with self._connection.cursor() as cursor:
            cursor.execute(statement)

    def _rows(self, query: str) -> list[tuple[Any, ...]]:
        with self._connection.cursor() as cursor:
            cursor.execute(query)
            return list(cursor.fetchall())
