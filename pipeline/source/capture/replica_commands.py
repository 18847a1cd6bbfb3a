"""The commands by which a replica asks for binary logs: their bytes, without the packet's header.

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
"""At the log's end the server says so, instead of waiting for more."""
BINLOG_SEND_ANNOTATE_ROWS = 0x2
"""MariaDB leaves ANNOTATE_ROWS events out unless it is asked for them."""

LAST_POSITION_OF_DUMP = 0xFFFFFFFF
"""COM_BINLOG_DUMP has four bytes for the position."""

_NO_GTIDS = struct.pack("<Q", 0)
"""A GTID set of no sources: nothing is left out."""


def register_replica(server_id: int, port: int = 0) -> bytes:
    """COM_REGISTER_SLAVE: server id 4; host, user, password (each a length 1 and text, here none);
    port 2; rank 4 (ignored); source's id 4 (0: it is filled in by the server)."""
    return struct.pack("<IBBBHII", server_id, 0, 0, 0, port, 0, 0)


def binlog_dump(server_id: int, file: str, position: int, flags: int) -> bytes:
    """COM_BINLOG_DUMP: position 4, flags 2, server id 4, the file's name to the end."""
    return struct.pack("<IHI", position, flags, server_id) + file.encode()


def binlog_dump_gtid(server_id: int, file: str, position: int, flags: int) -> bytes:
    """COM_BINLOG_DUMP_GTID: flags 2, server id 4, the file's name (length 4, text), position 8, and
    the encoded set of GTIDs to leave out (length 4, bytes), which is empty.

    With a file's name the server starts there. It takes this command with `gtid_mode=ON` only.
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
    """What a semi-synchronous replica sends: 0xEF, position 8, the file's name to the end."""
    return struct.pack("<BQ", SEMI_SYNC_MAGIC, position) + file.encode()
