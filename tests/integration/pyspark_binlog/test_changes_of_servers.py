"""The format `binlog` on real servers' logs: replayed, its changes lead to what SELECT returns."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Any

import pymysql
import pytest
from pymysql.constants import ER
from pyspark.sql.datasource import GreaterThanOrEqual

from tests.support.servers.mariadb import MariaDBServer
from tests.support.servers.mysql import MySQLServer
from tests.support.servers.server import Server
from tests.support.source.capturing import eventually
from tests.support.spark.binlog_rows import PlayedStream, filtered, replayed, rows_of

SCHEMA = "frames"
TABLE = f"{SCHEMA}.t"


def play(server: Server, *statements: str) -> None:
    """Run each statement in a session of its own."""
    for statement in statements:
        server.execute(statement)


def decide(server: Server, statement: str) -> None:
    """Decide a prepared transaction, once its session has ended."""
    eventually(partial(is_decided, server, statement))


def is_decided(server: Server, statement: str) -> bool:
    try:
        server.execute(statement)
    except pymysql.err.OperationalError as error:
        if error.args[0] != ER.XAER_NOTA:
            raise
        return False
    return True


def prepare(xid: str, statement: str) -> str:
    return f"XA START '{xid}'; {statement}; XA END '{xid}'; XA PREPARE '{xid}'"


def selected(server: Server, columns: str) -> list[dict[str, Any]]:
    names = columns.split(", ")
    rows = server.execute(f"SELECT {columns} FROM {TABLE} ORDER BY id")
    return [dict(zip(names, row, strict=True)) for row in rows]


@pytest.fixture
def mysql_log(mysql: MySQLServer) -> Iterator[MySQLServer]:
    """Return a server with a new log, which does not name columns."""
    mysql.reset_logs()
    play(mysql, "SET GLOBAL binlog_row_metadata = MINIMAL", f"CREATE DATABASE {SCHEMA}")
    yield mysql
    for *_, xid in mysql.execute("XA RECOVER"):
        decide(mysql, f"XA ROLLBACK '{xid}'")
    play(mysql, f"DROP DATABASE {SCHEMA}", "SET GLOBAL binlog_row_metadata = FULL")


def test_columns_are_named_by_ddl_and_united(mysql_log: MySQLServer) -> None:
    play(
        mysql_log,
        f"CREATE TABLE {TABLE} (id INT PRIMARY KEY, v VARCHAR(9), n SMALLINT, old INT)",
        f"INSERT INTO {TABLE} VALUES (1, 'a', 300, 7), (2, 'b', -1, 8), (3, 'c', NULL, 9)",
        f"ALTER TABLE {TABLE} MODIFY n BIGINT, DROP old, ADD w DATE AFTER id",
        "FLUSH BINARY LOGS",
        f"UPDATE {TABLE} SET n = 1 << 40, w = '2024-02-29' WHERE id = 2",
        f"DELETE FROM {TABLE} WHERE id = 3",
    )
    rows = rows_of(mysql_log.binlog_folder, table=TABLE)
    first = rows[0]["after"]
    assert list(first.items()) == [("id", 1), ("w", None), ("v", "a"), ("n", 300), ("old", 7)]
    ends = [{k: v for k, v in row.items() if k != "old"} for row in replayed(rows)]
    assert ends == selected(mysql_log, "id, w, v, n")
    assert {row["__op"] for row in rows} == {"insert", "update", "delete"}


def test_rows_of_xa_transactions_are_given_where_they_are_committed(
    mysql_log: MySQLServer,
) -> None:
    play(
        mysql_log,
        f"CREATE TABLE {TABLE} (id INT PRIMARY KEY, v VARCHAR(9))",
        f"INSERT INTO {TABLE} VALUES (1, 'one'), (2, 'two'), (3, 'three')",
    )
    stream = PlayedStream(mysql_log.binlog_folder, table=TABLE)
    given = [stream.next()]
    play(
        mysql_log,
        prepare("commits", f"UPDATE {TABLE} SET v = 'late' WHERE id = 1"),
        prepare("rolls back", f"DELETE FROM {TABLE} WHERE id = 2"),
        prepare("stays open", f"DELETE FROM {TABLE} WHERE id = 3"),
        "FLUSH BINARY LOGS",
    )
    given.append(stream.next())
    play(mysql_log, f"INSERT INTO {TABLE} VALUES (4, 'four')")
    decide(mysql_log, "XA COMMIT 'commits'")
    decide(mysql_log, "XA ROLLBACK 'rolls back'")
    play(mysql_log, f"UPDATE {TABLE} SET v = 'last' WHERE id = 1")
    stream.restart()
    given.append(stream.next())

    rows = rows_of(mysql_log.binlog_folder, table=TABLE)
    assert replayed(rows) == selected(mysql_log, "id, v")
    after = [row["after"]["v"] for row in rows]
    assert after == ["one", "two", "three", "four", "late", "last"]
    late = rows[4]
    assert (late["__file"], late["__lsn"] >> 40) == ("binlog.000001", 2)
    for name in ("__lsn", "__committed_at"):
        # The first file is not skipped, though its own transactions are earlier.
        since = GreaterThanOrEqual((name,), late[name])
        assert filtered(mysql_log.binlog_folder, since, table=TABLE)[0] == rows[4:]
    numbers = [int(row["__gtid"].rpartition(":")[2]) for row in rows[3:]]
    assert numbers == sorted(numbers)
    assert [len(some) for some in given] == [3, 0, 3]
    assert [row for some in given for row in some] == rows


def test_rolled_back_rows_are_left_out(mariadb: MariaDBServer) -> None:
    """MariaDB logs rolled-back rows if the transaction changed a table of MyISAM, too."""
    mariadb.reset_logs()
    play(
        mariadb,
        f"CREATE DATABASE {SCHEMA}",
        f"CREATE TABLE {TABLE} (id INT PRIMARY KEY, v VARCHAR(9))",
        f"CREATE TABLE {SCHEMA}.stays (id INT PRIMARY KEY) ENGINE=MyISAM",
        f"""
        BEGIN;
        INSERT INTO {TABLE} VALUES (1, 'kept');
        SAVEPOINT s;
        INSERT INTO {TABLE} VALUES (2, 'gone');
        INSERT INTO {SCHEMA}.stays VALUES (1);
        ROLLBACK TO s;
        INSERT INTO {TABLE} VALUES (3, 'kept');
        COMMIT
        """,
    )
    rows = rows_of(mariadb.binlog_folder, table=TABLE)
    assert replayed(rows) == selected(mariadb, "id, v")
    assert [row["after"]["id"] for row in rows] == [1, 3]
    play(mariadb, f"DROP DATABASE {SCHEMA}")
