"""Small logs of every kind that no MySQL recording covers, without checksums, to be mutated."""

from __future__ import annotations

import struct

from decoder.constants import EventType as T
from tests.support.decoder.binary_json import encode
from tests.support.decoder.encrypted_log import PLAIN, encrypted
from tests.support.decoder.event_bytes import (
    MARIADB_POST_HEADER_LENGTHS,
    event_bytes,
    format_description,
    log_bytes,
    mariadb_compressed,
    without_checksums,
)
from tests.support.decoder.logs import (
    CUP,
    INT,
    JSON,
    POT,
    Table,
    insert,
    payload,
    query,
    transaction,
    xid,
)
from tests.support.decoder.old_logs import (
    INTVAR,
    LOAD_HEAD,
    LOAD_NAMES,
    NEW_OPTIONS,
    OLD_OPTIONS,
    RAND,
    SLAVE,
    USER_VAR,
    V1,
    V3,
    OldLog,
    query as old_query,
)

COMPRESSED = {
    T.WRITE_ROWS_V1: T.MARIADB_WRITE_ROWS_COMPRESSED_V1,
    T.UPDATE_ROWS_V1: T.MARIADB_UPDATE_ROWS_COMPRESSED_V1,
    T.DELETE_ROWS_V1: T.MARIADB_DELETE_ROWS_COMPRESSED_V1,
    T.WRITE_ROWS: T.MARIADB_WRITE_ROWS_COMPRESSED,
    T.UPDATE_ROWS: T.MARIADB_UPDATE_ROWS_COMPRESSED,
    T.DELETE_ROWS: T.MARIADB_DELETE_ROWS_COMPRESSED,
}
"""MariaDB's compressed type of each rows event."""
_DOCS = Table(5, "docs", (INT, JSON))
_MARIADB = format_description("10.11.6-MariaDB-log", 0, MARIADB_POST_HEADER_LENGTHS)


def _partial_update() -> bytes:
    diffs = b"".join(
        [
            b"\x00\x03$.a" + bytes([len(encode(2))]) + encode(2),
            b"\x01\x04$[0]" + bytes([len(encode("two"))]) + encode("two"),
            b"\x02\x03$.b",
        ]
    )
    head = struct.pack("<Q", _DOCS.table_id)[:6] + struct.pack("<HH", 1, 2) + b"\x02\x03\x03"
    row = _DOCS.image((1, encode({"a": [1], "b": None}))) + b"\x01\x01" + _DOCS.image((1, diffs))
    return event_bytes(T.PARTIAL_UPDATE_ROWS, head + row)


def compressed_rows(event: bytes, rows_offset: int) -> bytes:
    """Return a rows event with its rows, from `rows_offset` on, compressed as by MariaDB."""
    body = event[19:rows_offset] + mariadb_compressed(event[rows_offset:])
    return event_bytes(COMPRESSED[T(event[4])], body)


def _mariadb() -> bytes:
    gtids = [
        event_bytes(T.MARIADB_GTID, struct.pack("<QIB", n, 0, 0).ljust(19, b"\0")) for n in (1, 2)
    ]
    rows = CUP.rows((1, "abc"), (2, None), kind=T.WRITE_ROWS_V1)
    statement = struct.pack("<IIBHH", 9, 0, 4, 0, 0) + b"shop\0"
    return log_bytes(
        event_bytes(T.MARIADB_GTID_LIST, struct.pack("<IIIQ", 1, 0, 1, 0)),
        event_bytes(T.MARIADB_BINLOG_CHECKPOINT, struct.pack("<I", 3) + b"a.1"),
        gtids[0],
        event_bytes(T.MARIADB_ANNOTATE_ROWS, b"INSERT"),
        CUP.map() + compressed_rows(rows, rows.index(b"\x02\xff") + 2) + xid(),
        gtids[1],
        event_bytes(T.MARIADB_QUERY_COMPRESSED, statement + mariadb_compressed(b"DROP TABLE t")),
        description=_MARIADB,
    )


def _old(log: OldLog, options: bytes) -> bytes:
    return log.log(
        old_query("CREATE TABLE cups (a INT, name CHAR(9))"),
        (T.INTVAR, INTVAR),
        (T.RAND, RAND),
        (T.USER_VAR, USER_VAR),
        old_query("INSERT INTO cups VALUES (NULL, 'x')"),
        (T.LOAD if log is V1 else T.NEW_LOAD, LOAD_HEAD + options + LOAD_NAMES + b"cups.txt"),
        (T.SLAVE, SLAVE),
        log.rotate("next.002"),
    )


LOG_KINDS: dict[str, bytes] = {
    "partial_update": log_bytes(transaction(1, _DOCS.map(), _partial_update())),
    "payload": log_bytes(
        payload(query("BEGIN") + insert(CUP, (1, "abc"), (2, None)) + insert(POT, (3,)) + xid())
    ),
    "mariadb": _mariadb(),
    "version_1": _old(V1, OLD_OPTIONS),
    "version_3": _old(V3, NEW_OPTIONS),
    "encrypted": encrypted(without_checksums(PLAIN)),
}
"""By name; `tests.support.decoder.encrypted_log.KEYS` decrypts the encrypted one."""
