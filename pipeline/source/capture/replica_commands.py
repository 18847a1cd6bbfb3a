"""The commands by which a replica requests binary logs, as bytes without the packet header.

All integers are little-endian. Sources: MySQL manual pages "COM_REGISTER_SLAVE"
(page_protocol_com_register_replica), "COM_BINLOG_DUMP" and "COM_BINLOG_DUMP_GTID"
(page_protocol_com_binlog_dump, …_gtid); MariaDB, "Replication Protocol"; for acknowledgements MySQL
`plugin/semisync/semisync_replica.cc`, `ReplSemiSyncSlave::slaveReply`.
"""

from __future__ import annotations

import struct

from decoder.framing.replication_packets import SEMI_SYNC_MAGIC

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
