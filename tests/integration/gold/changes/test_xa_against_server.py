"""XA transactions of real servers: applied to gold when committed, never before.

Each step runs all layers: what is prepared in one step is decided in another.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from pathlib import Path

import pymysql
import pytest
from pymysql.constants import ER
from pyspark.sql import SparkSession

from tests.support.gold.compare import assert_gold_equals_source
from tests.support.history.apply import lake_of, run
from tests.support.servers.mariadb import MariaDBServer
from tests.support.servers.mysql import MySQLServer
from tests.support.servers.server import Server
from tests.support.source.capturing import eventually

SCHEMA = "bank"
CREATE = f"""
    DROP DATABASE IF EXISTS {SCHEMA};
    CREATE DATABASE {SCHEMA};
    CREATE TABLE {SCHEMA}.a (id INT NOT NULL PRIMARY KEY, v VARCHAR(20));
    CREATE TABLE {SCHEMA}.b (id INT NOT NULL PRIMARY KEY, v VARCHAR(20));
    INSERT INTO {SCHEMA}.a VALUES (1, 'one'), (2, 'two'), (3, 'three')
"""


def group(xid: str, *statements: str, end: str = "PREPARE") -> str:
    ended = f"XA {end} {xid}" if end == "PREPARE" else f"XA COMMIT {xid} ONE PHASE"
    return ";".join([f"XA START {xid}", *statements, f"XA END {xid}", ended])


STORY: tuple[tuple[str, ...], ...] = (
    (CREATE, group("'x'", f"UPDATE {SCHEMA}.a SET v = 'late' WHERE id = 1")),
    (
        f"UPDATE {SCHEMA}.a SET v = 'other' WHERE id = 2",
        f"INSERT INTO {SCHEMA}.b VALUES (1, 'b')",
        "FLUSH BINARY LOGS",
        group("'y','q',7", f"DELETE FROM {SCHEMA}.a WHERE id = 3"),
    ),
    ("XA COMMIT 'x'", f"UPDATE {SCHEMA}.a SET v = CONCAT(v, '!') WHERE id = 1"),
    (
        "FLUSH BINARY LOGS",
        "XA ROLLBACK 'y','q',7",
        # The same id again, twice in one run: first committed, then rolled back.
        group("'x'", f"INSERT INTO {SCHEMA}.b VALUES (2, 'again')"),
        "XA COMMIT 'x'",
        group("'x'", f"INSERT INTO {SCHEMA}.b VALUES (3, 'never')"),
        "XA ROLLBACK 'x'",
        group("'z'", f"INSERT INTO {SCHEMA}.b VALUES (4, 'at once')", end="ONE PHASE"),
    ),
)
"""Statements of one run each; MariaDB's session ends after XA PREPARE, before the next
statements.
"""
EMPTY = (
    *(group("'x'", "SELECT 1"), "XA COMMIT 'x'"),
    *(group("'empty'", "SELECT 1"), "XA ROLLBACK 'empty'"),
)
"""MariaDB forgets transactions that were prepared without a change (error 1402)."""


def play(server: Server, statements: tuple[str, ...]) -> None:
    """Run each statement in a session of its own, which its prepared transaction outlives.

    A server ends a session some time after its client disconnects, and until then another session
    does not find what it prepared.
    """
    for statement in statements:
        if statement.startswith(("XA COMMIT", "XA ROLLBACK")):
            eventually(partial(is_decided, server, statement))
        else:
            server.execute(statement)


def is_decided(server: Server, statement: str) -> bool:
    """True if the server found the prepared transaction to commit or roll back."""
    try:
        server.execute(statement)
    except pymysql.err.OperationalError as error:
        if error.args[0] != ER.XAER_NOTA:
            raise
        return False
    return True


def follow(
    spark: SparkSession, server: Server, folder: Path, story: tuple[tuple[str, ...], ...] = STORY
) -> Iterator[int]:
    for number, statements in enumerate(story):
        play(server, statements)
        reports = run(spark, server.binlog_folder, lake_of(folder))
        assert [(report.faults, report.gaps) for report in reports] == [((), ())] * 3
        for table in ("a", "b"):
            assert_gold_equals_source(spark, server, str(lake_of(folder)), SCHEMA, table)
        yield number


@pytest.mark.long
@pytest.mark.parametrize("compression", ["OFF", "ON"])
def test_xa_transactions_are_applied_when_committed_on_mysql(
    spark: SparkSession, mysql: MySQLServer, tmp_path: Path, compression: str
) -> None:
    mysql.reset_logs()
    mysql.execute(f"SET GLOBAL binlog_transaction_compression = {compression}")
    try:
        story = (*STORY, EMPTY)
        assert len(list(follow(spark, mysql, tmp_path, story))) == len(story)
        # All at once, into a separate lake.
        once = tmp_path / "once"
        run(spark, mysql.binlog_folder, lake_of(once))
        for table in ("a", "b"):
            assert_gold_equals_source(spark, mysql, str(lake_of(once)), SCHEMA, table)
    finally:
        mysql.execute("SET GLOBAL binlog_transaction_compression = OFF")


def test_xa_transactions_are_applied_when_committed_on_mariadb(
    spark: SparkSession, mariadb: MariaDBServer, tmp_path: Path
) -> None:
    mariadb.reset_logs()
    assert len(list(follow(spark, mariadb, tmp_path))) == len(STORY)
