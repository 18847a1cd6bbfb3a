"""Do a 500 MB transaction, a 500 MB payload and a 3 GB file go through with a 2 GB driver heap?

Run: `make soak-sizes`, or `python -m benchmarks.soak [transaction | payload | file]`. The payload
is a transaction that the server compresses to 500 MB. The server closes a file after 1 GB at most,
but never inside a transaction: the large file is 900 MB of small ones and one of 2.1 GB. Fails if
a process takes more memory than `MOST`. Needs some 20 GB of disk for the recordings and the lake.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path

from rich.console import Console

from benchmarks.end_to_end import measure
from benchmarks.figures import Column, Tables
from benchmarks.peak import Peaks
from benchmarks.workload import recorded
from tests.support.servers.mysql import MySQLServer

SCHEMA = "soak"
OPTIONS = ("--max-binlog-size=1G", "--innodb-buffer-pool-size=1G", "--innodb-redo-log-capacity=2G")
TABLES: Tables = {"rows": (*map(Column.same, ("id", "number", "body")),)}
NOISE: Tables = {"noise": (Column.same("id"), Column("HEX(body)", "hex(body)"))}
CREATE_NOISE = f"""
    CREATE DATABASE {SCHEMA};
    CREATE TABLE {SCHEMA}.noise (
        id BIGINT NOT NULL PRIMARY KEY, body VARBINARY(1024) NOT NULL)
"""
CREATE = f"""
    CREATE DATABASE {SCHEMA};
    CREATE TABLE {SCHEMA}.rows (
        id BIGINT NOT NULL PRIMARY KEY, number INT NOT NULL, body VARCHAR(4000) NOT NULL)
"""
ROW_BYTES = 1000
MB = 1_000_000
MOST = Peaks(own=1_200 * MB, worker=700 * MB)
"""Bytes: this process runs two tasks at once, a worker of Spark's one; 400 MB are code."""


def fill(server: MySQLServer, first: int, size: int) -> int:
    """One transaction of about `size` bytes of new rows from `first` on; gives the next id."""
    count = size // ROW_BYTES
    with server.connect(database=SCHEMA) as connection, connection.cursor() as cursor:
        cursor.execute(f"SET SESSION cte_max_recursion_depth = {count + 1}")
        cursor.execute(
            f"""INSERT INTO {SCHEMA}.rows
                WITH RECURSIVE n (i) AS
                    (SELECT 0 UNION ALL SELECT i + 1 FROM n WHERE i < {count - 1})
                SELECT {first} + i, CRC32(i) % 1000000,
                       RPAD(SHA2(i, 256), {ROW_BYTES - 20}, SHA2(-i, 256))
                FROM n"""
        )
    return first + count


def transaction_500_mb(server: MySQLServer) -> None:
    """One transaction."""
    server.execute(CREATE)
    fill(server, 0, 500 * MB)


def payload_500_mb(server: MySQLServer) -> None:
    """One compressed transaction, of what hardly can be compressed."""
    server.execute(CREATE_NOISE)
    count = 500 * MB // ROW_BYTES
    with server.connect(database=SCHEMA) as connection, connection.cursor() as cursor:
        cursor.execute("SET SESSION binlog_transaction_compression = ON")
        cursor.execute(f"SET SESSION cte_max_recursion_depth = {count + 1}")
        cursor.execute(
            f"""INSERT INTO {SCHEMA}.noise
                WITH RECURSIVE n (i) AS
                    (SELECT 0 UNION ALL SELECT i + 1 FROM n WHERE i < {count - 1})
                SELECT i, RANDOM_BYTES({ROW_BYTES}) FROM n"""
        )


def file_3_gb(server: MySQLServer) -> None:
    """90 transactions of 10 MB, then one of 2.1 GB in the same file."""
    server.execute(CREATE)
    following = 0
    for _ in range(90):
        following = fill(server, following, 10 * MB)
    fill(server, following, 2100 * MB)


CASES: dict[str, tuple[Callable[[MySQLServer], None], Tables]] = {
    "transaction": (transaction_500_mb, TABLES),
    "payload": (payload_500_mb, NOISE),
    "file": (file_3_gb, TABLES),
}


def main() -> int:
    """Run the cases named on the command line, or all; 1 if any gold or memory is wrong."""
    failures = 0
    for name in sys.argv[1:] or CASES:
        write, tables = CASES[name]
        recording = recorded(f"soak-{name}", write, SCHEMA, tables, OPTIONS, [Path(__file__)])
        failures += measure(name, recording, SCHEMA, tables, Console(), most=MOST)
    return min(failures, 1)


if __name__ == "__main__":
    sys.exit(main())
