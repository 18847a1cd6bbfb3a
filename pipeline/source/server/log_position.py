"""Positions in a server's binary log, and those before and after a read of its tables.

Writers are not locked: a transaction is logged before other sessions see its rows, so not
everything before the log's end can be read yet. `settled` returns a position before which
everything is visible to readers; `end` one after everything that was read so far. On MySQL with
GTIDs, `settled` is the end, once every transaction being committed at that time has finished;
without GTIDs, it is the start of the last log file, since the server only begins a file when all
earlier transactions are committed (`MYSQL_BIN_LOG::new_file_impl` in sql/binlog.cc). MariaDB
reports the position of a snapshot itself
(https://mariadb.com/kb/en/enhancements-for-start-transaction-with-consistent-snapshot/).
"""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any, NamedTuple

from pipeline.source.server.connection import queried
from pipeline.source.server.errors import ServerError
from pipeline.source.server.login import Login
from pipeline.source.server.version import ServerVersion

if TYPE_CHECKING:
    from pymysql.connections import Connection

_NAME = re.compile(r"(?P<base>[^/\x00]*[^/.\x00])\.(?P<number>[0-9]{6,})")
"""Names of a server's log files: never a path, never hidden."""
BEGINNING = 4
"""Position of a log's first event, after the magic number."""
PATIENCE_SECONDS = 300
"""Longest wait for transactions that are being committed."""
PAUSE_SECONDS = 0.01


def as_text(value: object) -> str:
    """Return a value as text; drivers may return names and numbers as bytes."""
    return value.decode() if isinstance(value, bytes) else str(value)


def owned_gtids(text: str) -> Iterator[str]:
    """Yield the GTIDs of @@gtid_owned, whose form is `uuid:1#9:2#8:tag:1#7,uuid:…` (#: thread)."""
    for source in filter(None, text.replace("\n", "").split(",")):
        uuid, *parts = source.strip().split(":")
        tag = ""
        for part in parts:
            number, owner, _ = part.partition("#")
            if owner:
                yield f"{uuid}:{tag}{number}"
            else:
                tag = f"{part}:"


class LogPosition(NamedTuple):
    """The position after the event that ends at `position` of `file`."""

    file: str
    position: int

    def __str__(self) -> str:
        return f"{self.file}:{self.position}"

    @property
    def rank(self) -> tuple[int, int]:
        """Sort key of the positions in a log. Raises ValueError for a name that is not a log's."""
        return number_of(self.file), self.position


def is_log_name(name: str) -> bool:
    """Return True if this can be the name of a binary log."""
    return _NAME.fullmatch(name) is not None and not name.startswith(".")


def number_of(name: str) -> int:
    """Return the number in a log's name. Raises ValueError for any other name."""
    match = _NAME.fullmatch(name)
    if match is None:
        raise ValueError(f"{name!r} is not a binary log name")
    return int(match["number"])


def follows(later: str, earlier: str) -> bool:
    """Return True if `later` is the next file after `earlier`: same base, next number."""
    before, after = _NAME.fullmatch(earlier), _NAME.fullmatch(later)
    if before is None or after is None:
        return False
    same = before["base"] == after["base"]
    return same and int(after["number"]) == int(before["number"]) + 1


class NoLogPositionError(ServerError):
    """The server reports no log position, or none before which everything is visible."""


class LogPositions:
    """Queries log positions over a connection in autocommit mode that nothing else uses."""

    def __init__(self, connection: Connection[Any], version: ServerVersion, login: Login) -> None:
        self._connection = connection
        self._version = version
        self._named = {"address": login.address, "user": login.user}

    def end(self) -> LogPosition:
        """Return the log's end, after everything visible now. Raises NoLogPositionError."""
        rows = self._rows(self._version.log_status_statement)
        if not rows:
            raise NoLogPositionError(
                "the server writes no binary log.",
                remedy="Set log_bin; binlake check shows how.",
                **self._named,
            )
        return LogPosition(as_text(rows[0][0]), int(rows[0][1]))

    def executed(self) -> str:
        """Return the GTID set of the logged transactions as text; empty without GTIDs."""
        if self._version.is_mariadb:
            return self._value("SELECT @@GLOBAL.gtid_binlog_state")
        if self._value("SELECT @@GLOBAL.gtid_mode") != "ON":
            return ""
        return self._value("SELECT @@GLOBAL.gtid_executed").replace("\n", "")

    def log_identity(self) -> dict[str, int]:
        """Return `server_id` and `at` (Unix time in seconds, by the server's clock).

        They distinguish the current log from another one with the same file names.
        """
        ((server_id, at),) = self._rows("SELECT @@GLOBAL.server_id, UNIX_TIMESTAMP()")
        return {"server_id": int(as_text(server_id)), "at": int(float(as_text(at)))}

    def settled(self) -> LogPosition:
        """Return a position before which everything is visible to later reads.

        Raises NoLogPositionError.
        """
        if self._version.is_mariadb:
            try:
                return self.begin_snapshot()
            finally:
                self._rows("ROLLBACK")
        place = self.end()
        if self._value("SELECT @@GLOBAL.gtid_mode") != "ON":
            return LogPosition(place.file, BEGINNING)
        self._wait_for(self._committing())
        return place

    def begin_snapshot(self) -> LogPosition:
        """Begin a snapshot transaction on MariaDB and return its position.

        The snapshot contains everything before the position and nothing after it.
        Raises NoLogPositionError.
        """
        self._rows("START TRANSACTION WITH CONSISTENT SNAPSHOT")
        status = {
            as_text(name): as_text(value)
            for name, value in self._rows("SHOW STATUS LIKE 'binlog_snapshot_%'")
        }
        file = status.get("Binlog_snapshot_file")
        if not file:
            self.end()
            raise NoLogPositionError(
                "the server does not report the log position of a snapshot.",
                remedy="Use MariaDB 5.3 or newer.",
                **self._named,
            )
        return LogPosition(file, int(status["Binlog_snapshot_position"]))

    def _committing(self) -> frozenset[str]:
        """Return the GTIDs of transactions that may be logged but not visible yet."""
        return frozenset(owned_gtids(self._value("SELECT @@GLOBAL.gtid_owned")))

    def _wait_for(self, gtids: frozenset[str], sleep: Callable[[float], None] = time.sleep) -> None:
        until = time.monotonic() + PATIENCE_SECONDS
        while gtids := gtids & self._committing() if gtids else gtids:
            if time.monotonic() > until:
                raise NoLogPositionError(
                    f"transaction {min(gtids)} is still being committed after"
                    f" {PATIENCE_SECONDS} seconds.",
                    remedy="Find its session with SHOW PROCESSLIST, and run it again.",
                    **self._named,
                )
            sleep(PAUSE_SECONDS)

    def _value(self, query: str) -> str:
        return as_text(self._rows(query)[0][0] or "")

    def _rows(self, query: str) -> list[tuple[Any, ...]]:
        return queried(self._connection, query)
