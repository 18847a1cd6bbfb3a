"""Queries about a source server and its log, on a separate connection.

Statements: MySQL manual "SHOW BINARY LOGS", "SHOW BINARY LOG STATUS" (since 8.2; SHOW MASTER STATUS
before, and on MariaDB).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import pymysql
from pymysql.connections import Connection

from decoder.encryption import HEADER_LENGTH as ENCRYPTION_HEADER_LENGTH
from pipeline.errors import BinlakeError
from pipeline.source.capture.errors import CaptureError, LostConnectionError, TooFewConnectionsError
from pipeline.source.gtid_set import NO_GTIDS, GtidSet
from pipeline.source.server.connect_timeout import StopOpening
from pipeline.source.server.connection import code_of, connect, queried
from pipeline.source.server.errors import AccessDeniedError
from pipeline.source.server.log_position import LogPosition
from pipeline.source.server.login import Login
from pipeline.source.server.version import ServerVersion

ANSWER_SECONDS = 15
"""Read timeout: queries take milliseconds, and nothing is landed while one is pending."""
_DENIED = (1044, 1045, 1142, 1227)
_GRANTS = (
    "Grant REPLICATION SLAVE and REPLICATION CLIENT (on MariaDB, REPLICATION SLAVE and BINLOG"
    " MONITOR) on *.*."
)
_NOT_LOGGING = (1381, 1236)
_PREVIOUS_GTIDS = ("Previous_gtids", "Gtid_list")
"""Event names in SHOW BINLOG EVENTS: MySQL's, and MariaDB's (whose set is in brackets)."""
_FIRST_EVENTS = 4
"""Number of first events that include it; FORMAT_DESCRIPTION and START_ENCRYPTION precede it."""


class NoLogError(CaptureError):
    """The server writes no binary logs."""


@dataclass(frozen=True, slots=True)
class LogFile:
    """One of the server's logs: its name, and its size in bytes without an encryption header."""

    name: str
    size: int


@dataclass(frozen=True, slots=True)
class Identity:
    """Identity of a server; `uuid` is None on MariaDB, which has none."""

    version: ServerVersion
    server_id: int
    uuid: str | None


@dataclass(frozen=True, slots=True)
class LogEnd:
    """End of the server's log; `gtids`: the text of the executed GTID set.

    `time`: Unix time in seconds at that moment, by the server's clock.
    """

    position: LogPosition
    gtids: str
    time: float = 0.0

    def transactions_after(self, gtid: str | None) -> int | None:
        """Return the number of transactions of the same source after `gtid`; None without GTIDs."""
        if gtid is None or not self.gtids:
            return None
        source, colon, number = gtid.rpartition(":")
        executed = GtidSet.of(self.gtids)
        if colon:
            intervals = executed.intervals.get(source, ())
            return sum(max(0, last - max(first - 1, int(number))) for first, last in intervals)
        domain, _, sequence = map(int, gtid.split("-"))
        ends = (end for (other, _), end in executed.last.items() if other == domain)
        return max(0, max(ends, default=0) - sequence)


class SourceQueries:
    """A connection for queries: `with closing(SourceQueries(login)) as source`.

    Every query raises LostConnectionError if the connection is lost, AccessDeniedError if the user
    lacks the privilege. The next query reconnects, and raises what that raises, or
    LostConnectionError if another server answers.
    """

    def __init__(self, login: Login, stop: StopOpening | None = None) -> None:
        self._login = login
        self._stop = stop
        self._connection = self._connected()
        self.identity = self._identity()

    @property
    def address(self) -> str:
        """The server's address."""
        return self._login.address

    def logs(self) -> list[LogFile]:
        """Return the server's binary logs, in order. Raises NoLogError."""
        logs = []
        for name, size, *encrypted in self._rows("SHOW BINARY LOGS"):
            header = ENCRYPTION_HEADER_LENGTH if encrypted and encrypted[0] == "Yes" else 0
            logs.append(LogFile(name, size - header))
        return logs

    def end(self) -> LogEnd:
        """Return the current end of the log. Raises NoLogError."""
        version = self.identity.version
        rows = self._rows(version.log_status_statement)
        if not rows:
            raise self._no_log()
        file, position, *rest = rows[0]
        gtids = rest[2] if len(rest) > 2 else ""
        if version.is_mariadb:
            gtids = self._rows("SELECT @@global.gtid_binlog_state")[0][0]
        ((time,),) = self._rows("SELECT UNIX_TIMESTAMP()")
        return LogEnd(LogPosition(file, position), (gtids or "").replace("\n", ""), float(time))

    def has_gtids(self) -> bool:
        """Return True if COM_BINLOG_DUMP_GTID can be used: MySQL with `gtid_mode=ON`."""
        return self._is_on("gtid_mode")

    def previous_gtids(self, file: str) -> GtidSet | None:
        """Return the GTIDs before one of the logs; None if the log does not record them."""
        rows = self._rows(f"SHOW BINLOG EVENTS IN '{file}' LIMIT {_FIRST_EVENTS}")
        for _, _, kind, _, _, info in rows:
            if kind in _PREVIOUS_GTIDS:
                return GtidSet.of(info.strip("[]"))
        return None

    def logs_what_it_replicates(self) -> bool:
        """Return True if the server also logs what it replicates from another server."""
        return self._is_on("log_replica_updates", "log_slave_updates")

    def replicated_gtids(self) -> GtidSet:
        """Return MariaDB's last replicated GTID of every domain.

        These may be in none of its logs, if it was restored from a backup or does not log what it
        replicates. MySQL's are all among the GTIDs of `end`.
        """
        if not self.identity.version.is_mariadb:
            return NO_GTIDS
        ((position,),) = self._rows("SELECT @@global.gtid_slave_pos")
        return GtidSet.of(position)

    def is_replica(self) -> bool:
        """Return True if replication from another server is configured, running or not."""
        return bool(self._rows(self.identity.version.replica_status_statement))

    def is_semi_sync(self) -> bool:
        """Return True if the server waits for replicas' acknowledgements."""
        return self._is_on("rpl_semi_sync_source_enabled", "rpl_semi_sync_master_enabled")

    def require_another_connection(self) -> None:
        """Raise TooFewConnectionsError if the user may only have one connection."""
        ((most,),) = self._rows("SELECT @@max_user_connections")
        if most == 1:
            raise TooFewConnectionsError(address=self._login.address, user=self._login.user)

    def close(self) -> None:
        """End the connection."""
        if self._connection.open:
            self._connection.close()

    def _identity(self) -> Identity:
        ((text, server_id),) = self._rows("SELECT VERSION(), @@global.server_id")
        rows = self._rows("SHOW GLOBAL VARIABLES LIKE 'server_uuid'")
        return Identity(ServerVersion.read(text), server_id, rows[0][1] if rows else None)

    def _is_on(self, *names: str) -> bool:
        """Return True if a variable of one of these names, old and new, is ON."""
        listed = ", ".join(map(repr, names))
        rows = self._rows(f"SHOW GLOBAL VARIABLES WHERE Variable_name IN ({listed})")
        return any(value == "ON" for _, value in rows)

    def _rows(self, statement: str) -> list[tuple[Any, ...]]:
        if not self._connection.open:
            self._reconnect()
        try:
            return queried(self._connection, statement)
        except pymysql.MySQLError as error:
            if code_of(error) in _NOT_LOGGING:
                raise self._no_log() from error
            raise explained(error, self._login, statement) from error

    def _connected(self) -> Connection[Any]:
        return connect(self._login, stop=self._stop, read_timeout=ANSWER_SECONDS)

    def _reconnect(self) -> None:
        self._connection = self._connected()
        known, found = self.identity, self._identity()
        if (known.uuid, known.server_id) != (found.uuid, found.server_id):
            self.close()
            raise LostConnectionError(f"{self._login.address} is now another server.")

    def _no_log(self) -> NoLogError:
        return NoLogError(
            f"{self._login.address} writes no binary logs.",
            remedy="Start it with log_bin (MySQL 8 and newer log unless skip-log-bin is set).",
        )


def explained(error: Exception, login: Login, asked: str) -> BinlakeError:
    """Translate an error of PyMySQL or the socket; `asked`: the failed statement or command."""
    reason = str(error.args[-1]).rstrip(".") if error.args else type(error).__name__
    if code_of(error) in _DENIED:
        named = {"address": login.address, "user": login.user}
        return AccessDeniedError(f"{asked} was refused: {reason}.", remedy=_GRANTS, **named)
    return LostConnectionError(f"connection to {login.address} lost during {asked}: {reason}.")
