"""The bulk workload: some 150 MB of binlog, recorded once from a real MySQL server.

140 transactions of 10,000 new rows of 12 columns, and nothing else.
"""

from __future__ import annotations

from pathlib import Path

from benchmarks.figures import Column, Tables
from benchmarks.workload import BULK_ROWS, BULK_TRANSACTIONS, OPTIONS, Recording, recorded
from tests.support.servers.mysql import MySQLServer

SQL = Path(__file__).with_suffix(".sql")
SCHEMA = "bulk"
TABLES: Tables = {
    "readings": tuple(map(Column.same, ("id", "name", "site", "amount", "rate", "remark")))
}


def bulk() -> Recording:
    """The bulk workload, recorded now if it is not there yet."""
    return recorded("bulk", write_bulk, SCHEMA, TABLES, OPTIONS, [Path(__file__), SQL])


def write_bulk(server: MySQLServer) -> None:
    """One transaction after the other."""
    server.execute(SQL.read_text())
    with server.connect() as connection, connection.cursor() as cursor:
        cursor.execute("SET SESSION cte_max_recursion_depth = 100000")
        for number in range(BULK_TRANSACTIONS):
            cursor.execute("CALL bulk.fill(%s, %s)", (number * BULK_ROWS, BULK_ROWS))
