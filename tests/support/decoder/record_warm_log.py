"""Record decoder/stream/warm.binlog.zst, from which `decoder.stream.precompile` compiles all
kernels.

python -m tests.support.decoder.record_warm_log

The log updates a few rows of each table of the type zoo, some in compressed transactions, and a
document with partial images and partial JSON updates.
"""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

import zstandard

from tests.support.servers.mysql import MySQLServer
from tests.support.zoo.type_zoo import TABLES

TARGET = Path(__file__).parent.parent.parent.parent / "decoder" / "stream" / "warm.binlog.zst"

DOCUMENT = (
    "CREATE TABLE document (id INT PRIMARY KEY, j JSON, note VARCHAR(10))",
    "INSERT INTO document VALUES (1, JSON_OBJECT('a', 1, 'b', 2, 'pad', 'xxxxxxxxxxxx'), 'n')",
)
IN_PART = (
    "SET binlog_row_image = MINIMAL",
    "UPDATE document SET note = 'm'",
    "SET binlog_row_value_options = PARTIAL_JSON",
    "UPDATE document SET j = JSON_SET(j, '$.a', 2)",
    "DELETE FROM document",
)


def _shorten(cursor: Any, table: str) -> None:
    """Shorten long texts, which need no other kernels."""
    cursor.execute(
        "SELECT column_name FROM information_schema.columns WHERE table_schema = 'zoo'"
        " AND table_name = %s AND character_octet_length > 1000 AND extra NOT LIKE '%%GENERATED%%'"
        " AND data_type REGEXP 'char|text|blob|binary'",
        (table,),
    )
    for (column,) in cursor.fetchall():
        cursor.execute(f"UPDATE {table} SET `{column}` = LEFT(`{column}`, 30)")


def main() -> None:
    """Record the log."""
    with tempfile.TemporaryDirectory() as folder, MySQLServer(Path(folder)) as server:
        with server.connect() as connection, connection.cursor() as cursor:
            cursor.execute("CREATE DATABASE zoo")
            cursor.execute("USE zoo")
            names = []
            for create, statements in TABLES:
                for statement in (create, *statements):
                    cursor.execute(statement)
                names.append(create.split()[2])
                _shorten(cursor, names[-1])
            for statement in DOCUMENT:
                cursor.execute(statement)
            cursor.execute("RESET BINARY LOGS AND GTIDS")
            for compression, rows in (("ON", "3"), ("OFF", "1, 2")):
                cursor.execute(f"SET binlog_transaction_compression = {compression}")
                for name in names:
                    cursor.execute(f"UPDATE {name} SET id = -id WHERE id IN ({rows})")
                cursor.execute(f"DELETE FROM {names[0]} WHERE id < 0")
            for statement in IN_PART:
                cursor.execute(statement)
        server.stop()
        recorded = server.binlogs()[0].read_bytes()
    TARGET.write_bytes(zstandard.ZstdCompressor(19).compress(recorded))
    print(f"{TARGET.name}: {TARGET.stat().st_size} bytes")


if __name__ == "__main__":
    main()
