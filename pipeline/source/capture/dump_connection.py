"""The connection on which a server sends its log: preparing it, requesting the dump, reading it.

It is prepared by session variables, which the server reads when the dump begins. Sources: MySQL
`sql/rpl_binlog_sender.cc`, `Binlog_sender::init`; MariaDB `sql/sql_repl.cc`, `init_binlog_sender`;
`mysqlbinlog --read-from-remote-server --raw` does the same.

In the commands by which a replica requests the log, all integers are little-endian. Sources: MySQL
manual pages "COM_REGISTER_SLAVE" (page_protocol_com_register_replica), "COM_BINLOG_DUMP" and
"COM_BINLOG_DUMP_GTID" (page_protocol_com_binlog_dump, …_gtid); MariaDB, "Replication Protocol"; for
acknowledgements MySQL `plugin/semisync/semisync_replica.cc`, `ReplSemiSyncSlave::slaveReply`.
"""

from __future__ import annotations

import select
import socket
import struct
from collections.abc import Mapping
from contextlib import suppress
from types import MappingProxyType
from typing import Any, cast

import pymysql

from decoder.framing import SEMI_SYNC_MAGIC
from pipeline.source.capture.errors import LostConnectionError
from pipeline.source.capture.source import Identity, explained
from pipeline.source.capture.state import Replica
from pipeline.source.server.connect_timeout import StopOpening, cut_off
from pipeline.source.server.connection import connect, queried
from pipeline.source.server.log_position import LogPosition
from pipeline.source.server.login import Login

COM_REGISTER_SLAVE = 0x15
COM_BINLOG_DUMP = 0x12
COM_BINLOG_DUMP_GTID = 0x1E

BINLOG_DUMP_NON_BLOCK = 0x1
"""At the log's end the server ends the dump instead of waiting for more."""
BINLOG_SEND_ANNOTATE_ROWS = 0x2
"""MariaDB omits ANNOTATE_ROWS events without this flag."""

LAST_POSITION_OF_DUMP = 0xFFFFFFFF
"""Largest position in COM_BINLOG_DUMP, which has four bytes for it."""

_NO_GTIDS = struct.pack("<Q", 0)
"""An empty GTID set: no transactions are skipped."""

HEARTBEAT_SECONDS = 5
"""Interval at which an idle server sends heartbeats."""
SILENT_SECONDS = 6 * HEARTBEAT_SECONDS
"""A server that is silent for this long is considered lost."""
WRITE_SECONDS = 24 * 60 * 60
"""The server's `net_write_timeout`: long, since the capture's disk may be slow."""

BATCH = 1 << 19
"""Bytes to receive per call, if available."""

_NANOSECONDS = 1_000_000_000
_PACKET_HEADER = struct.Struct("<I")
_SETTINGS: Mapping[bool, tuple[str, ...]] = MappingProxyType(
    {
        # Both names of each, since servers know only one of them: the old one up to 8.0.25.
        False: (
            "@source_binlog_checksum = 'NONE', @master_binlog_checksum = 'NONE'",
            "@source_heartbeat_period = {heartbeat}, @master_heartbeat_period = {heartbeat}",
            "@replica_uuid = '{uuid}', @slave_uuid = '{uuid}'",
            "SESSION net_write_timeout = {patience}",
        ),
        True: (
            "@master_binlog_checksum = 'NONE'",
            "@master_heartbeat_period = {heartbeat}",
            # MARIA_SLAVE_CAPABILITY_GTID: no event is replaced or omitted.
            "@mariadb_slave_capability = 4",
            "SESSION net_write_timeout = {patience}",
        ),
    }
)
"""By whether the server is MariaDB. `NONE` declares that the client understands checksums, and that
the first artificial event, sent before the layout is known, has none; all others are as in the
file."""
_WHO = "SHOW GLOBAL VARIABLES WHERE Variable_name IN ('server_id', 'server_uuid')"
"""MariaDB has no UUID."""
_SEMI_SYNC = "@rpl_semi_sync_replica = 1, @rpl_semi_sync_slave = 1"


class DumpConnection:
    """Requests the log of `server` from `start` on; with `semi_sync`, sends acknowledgements.

    Raises ServerError if it cannot connect or the user lacks the privilege, and LostConnectionError
    if the connection is lost or reaches another server than `server`: an address may be shared by
    several.
    """

    def __init__(
        self,
        login: Login,
        replica: Replica,
        start: LogPosition,
        *,
        server: Identity,
        wait: bool,
        gtids: bool,
        semi_sync: bool = False,
        stop: StopOpening | None = None,
    ) -> None:
        self._login = login
        # Cast to Any: reading a dump uses PyMySQL's private methods.
        self._connection = cast(Any, connect(login, stop=stop))
        self._semi_sync = semi_sync
        self._wake, self._woken = socket.socketpair()
        # Non-blocking: one pending wake-up is enough.
        self._wake.setblocking(False)
        self._woken.setblocking(False)
        self._acknowledged: LogPosition | None = None
        mariadb = server.version.is_mariadb
        try:
            self._require(server)
            self._prepare(replica, mariadb, semi_sync)
            flags = BINLOG_SEND_ANNOTATE_ROWS if mariadb else 0
            self._ask(replica, start, flags if wait else flags | BINLOG_DUMP_NON_BLOCK, gtids=gtids)
        except (pymysql.MySQLError, OSError) as error:
            self.close()
            raise explained(error, login, "COM_REGISTER_SLAVE") from error
        except LostConnectionError:
            self.close()
            raise
        self._socket: socket.socket = self._connection._sock
        self._socket.settimeout(SILENT_SECONDS)

    def receive_into(self, room: memoryview) -> int:
        """Receive the next bytes of the dump, at least one, and return their number.

        Raises LostConnectionError if the server closes the connection, or is silent for
        `SILENT_SECONDS`.
        """
        try:
            self._wait()
            count = self._socket.recv_into(room)
            # TLS returns at most 16 KiB at a time, which is expensive to process one by one.
            while 0 < count < min(BATCH, len(room)) and self._has_more():
                more = self._socket.recv_into(room[count:])
                if not more:
                    break
                count += more
        except (OSError, ValueError) as error:
            raise explained(error, self._login, "COM_BINLOG_DUMP") from error
        if not count:
            raise LostConnectionError(f"{self._login.address} has closed the connection.")
        return count

    def acknowledge(self, position: LogPosition) -> None:
        """Acknowledge that all before `position` is durable, with `semi_sync`. Thread-safe."""
        if not self._semi_sync:
            return
        self._acknowledged = position
        with suppress(OSError):
            self._wake.send(b"\0")

    def interrupt(self) -> None:
        """Make a blocked `receive_into` fail. Thread-safe."""
        cut_off(self._connection)

    def close(self) -> None:
        """Close the connection without COM_QUIT, since the server is sending."""
        with suppress(pymysql.MySQLError, OSError):
            self._connection._force_close()
        self._wake.close()
        self._woken.close()

    def _wait(self) -> None:
        """Wait until there is something to receive.

        Sends pending acknowledgements before and meanwhile: only one thread may use a TLS socket.
        """
        self._send_acknowledgement()
        while not self._has_more():
            ready, _, _ = select.select([self._socket, self._woken], [], [], SILENT_SECONDS)
            if not ready:
                raise TimeoutError(f"it was silent for {SILENT_SECONDS} seconds")
            self._send_acknowledgement()

    def _has_more(self) -> bool:
        """Return True if bytes can be received without waiting."""
        pending = getattr(self._socket, "pending", None)
        if pending is not None and pending():
            return True
        return bool(select.select([self._socket], [], [], 0)[0])

    def _send_acknowledgement(self) -> None:
        """Send the latest acknowledgement if it was not sent yet."""
        try:
            self._woken.recv(1 << 16)
        except BlockingIOError:
            return
        position = self._acknowledged
        if position is None:
            return
        content = acknowledgement(position.file, position.position)
        # The packet's sequence number is 0: an acknowledgement starts a new sequence.
        self._socket.sendall(_PACKET_HEADER.pack(len(content)) + content)

    def _require(self, server: Identity) -> None:
        found = dict(queried(self._connection, _WHO))
        if (int(found["server_id"]), found.get("server_uuid")) != (server.server_id, server.uuid):
            raise LostConnectionError(
                f"{self._login.address} is the address of several servers: the dump's connection"
                f" reached {found.get('server_uuid') or found['server_id']}, the previous one"
                f" {server.uuid or server.server_id}."
            )

    def _prepare(self, replica: Replica, mariadb: bool, semi_sync: bool) -> None:
        values = {
            "heartbeat": HEARTBEAT_SECONDS * _NANOSECONDS,
            "uuid": replica.uuid,
            "patience": WRITE_SECONDS,
        }
        with self._connection.cursor() as cursor:
            for setting in (*_SETTINGS[mariadb], *([_SEMI_SYNC] if semi_sync else [])):
                cursor.execute(f"SET {setting.format_map(values)}")

    def _ask(self, replica: Replica, start: LogPosition, flags: int, *, gtids: bool) -> None:
        self._connection._execute_command(COM_REGISTER_SLAVE, register_replica(replica.server_id))
        self._connection._read_ok_packet()
        place = (replica.server_id, start.file, start.position, flags)
        if start.position > LAST_POSITION_OF_DUMP and gtids:
            self._connection._execute_command(COM_BINLOG_DUMP_GTID, binlog_dump_gtid(*place))
            return
        self._connection._execute_command(COM_BINLOG_DUMP, binlog_dump(*place))


def register_replica(server_id: int, port: int = 0) -> bytes:
    """Return COM_REGISTER_SLAVE.

    Server id 4 bytes; host, user, password (each length 1 and text, here empty); port 2; rank 4
    (ignored); source's server id 4 (0: the server fills it in).
    """
    return struct.pack("<IBBBHII", server_id, 0, 0, 0, port, 0, 0)


def binlog_dump(server_id: int, file: str, position: int, flags: int) -> bytes:
    """Return COM_BINLOG_DUMP: position 4 bytes, flags 2, server id 4, file name to the end."""
    return struct.pack("<IHI", position, flags, server_id) + file.encode()


def binlog_dump_gtid(server_id: int, file: str, position: int, flags: int) -> bytes:
    """Return COM_BINLOG_DUMP_GTID.

    Flags 2 bytes, server id 4, file name (length 4, text), position 8, and the encoded set of GTIDs
    to skip (length 4, bytes), here empty. With a file name the server starts there. It accepts this
    command only with `gtid_mode=ON`.
    """
    name = file.encode()
    return b"".join(
        (
            struct.pack("<HII", flags, server_id, len(name)),
            name,
            struct.pack("<QI", position, len(_NO_GTIDS)),
            _NO_GTIDS,
        )
    )


def acknowledgement(file: str, position: int) -> bytes:
    """Return a semi-synchronous replica's ACK: 0xEF, position 8 bytes, file name to the end."""
    return struct.pack("<BQ", SEMI_SYNC_MAGIC, position) + file.encode()
