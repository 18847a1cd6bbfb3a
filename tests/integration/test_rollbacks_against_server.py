"""Savepoints and rollbacks of real servers: what is taken back is not in gold.

MySQL cuts it out of what it logs. MariaDB logs it, with ROLLBACK TO, where a transaction changed a
table that cannot be rolled back.
"""

from __future__ import annotations

from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from pipeline import delta
from pipeline.lake import Lake
from tests.support.compare import assert_gold_equals_source
from tests.support.history.apply import lake_of, run
from tests.support.mariadb import MariaDBFactory, MariaDBServer
from tests.support.mysql import MySQLFactory, MySQLServer
from tests.support.server import Server

SCHEMA = "taken_back"
CREATE = f"""
    DROP DATABASE IF EXISTS {SCHEMA};
    CREATE DATABASE {SCHEMA};
    CREATE TABLE {SCHEMA}.t (id INT NOT NULL PRIMARY KEY, v VARCHAR(40));
    CREATE TABLE {SCHEMA}.stays (id INT NOT NULL PRIMARY KEY, v VARCHAR(40)) ENGINE=MyISAM;
    CREATE TABLE {SCHEMA}.told (id INT NOT NULL PRIMARY KEY, v VARCHAR(40));
    CREATE TABLE {SCHEMA}.audit (id INT NOT NULL PRIMARY KEY, v VARCHAR(40)) ENGINE=MyISAM;
    CREATE TRIGGER {SCHEMA}.tells AFTER INSERT ON {SCHEMA}.told FOR EACH ROW
        INSERT INTO {SCHEMA}.audit VALUES (NEW.id, NEW.v)
"""
MIXED = f"""
    BEGIN;
    INSERT INTO {SCHEMA}.t VALUES (10, 'gone');
    INSERT INTO {SCHEMA}.stays VALUES (10, 'stays'), (11, 'too');
    UPDATE {SCHEMA}.stays SET v = 'changed' WHERE id = 10;
    INSERT INTO {SCHEMA}.told VALUES (1, 'gone');
    ROLLBACK;
    BEGIN;
    INSERT INTO {SCHEMA}.told VALUES (2, 'kept');
    SAVEPOINT s;
    INSERT INTO {SCHEMA}.told VALUES (3, 'gone');
    ROLLBACK TO s;
    COMMIT
"""
"""Rolled back, with tables of an engine that rolls nothing back: directly and by a trigger."""


def session(between: str) -> str:
    """`between` is done behind the savepoint."""
    insert = f"INSERT INTO {SCHEMA}.t VALUES"
    return f"""
        BEGIN;
        {insert} (1, 'a');
        SAVEPOINT `a b`;
        {insert} (2, 'b'), (3, 'c');
        {between};
        {insert} (4, 'd');
        ROLLBACK TO `a b`;
        {insert} (5, 'e');
        COMMIT;
        BEGIN;
        {insert} (6, 'f');
        ROLLBACK
    """


def rows_in_silver(spark: SparkSession, server: Server, folder: Path) -> int:
    """Runs, compares gold, and counts what the log had."""
    reports = run(spark, server.binlog_folder, lake_of(folder))
    assert [(report.faults, report.gaps) for report in reports] == [((), ())] * 3
    lake = str(lake_of(folder))
    assert assert_gold_equals_source(spark, server, lake, SCHEMA, "t") == 2
    return delta.read(spark, Lake(lake).changes(SCHEMA, "t", 1)).count()


@pytest.mark.parametrize("compression", ["OFF", "ON"])
def test_on_mysql(
    spark: SparkSession, mysql: MySQLServer, tmp_path: Path, compression: str
) -> None:
    mysql.reset_logs()
    mysql.execute(CREATE)
    setting = f"SET SESSION binlog_transaction_compression = {compression};"
    mysql.execute(setting + session(f"INSERT INTO {SCHEMA}.t VALUES (7, 'g')"))
    assert rows_in_silver(spark, mysql, tmp_path) == 2


def test_on_mariadb(spark: SparkSession, mariadb: MariaDBServer, tmp_path: Path) -> None:
    mariadb.reset_logs()
    mariadb.execute(CREATE)
    mariadb.execute(session(f"INSERT INTO {SCHEMA}.stays VALUES (1, 'stays')"))
    assert rows_in_silver(spark, mariadb, tmp_path) > 2
    assert assert_gold_equals_source(spark, mariadb, str(lake_of(tmp_path)), SCHEMA, "stays") == 1


@pytest.mark.parametrize("fixture", ["mysql_factory", "mariadb_factory"])
def test_what_an_engine_without_transactions_keeps_is_in_gold(
    spark: SparkSession, fixture: str, request: pytest.FixtureRequest, tmp_path: Path
) -> None:
    """MySQL allows such transactions only where GTIDs need not be consistent."""
    factory: MySQLFactory | MariaDBFactory = request.getfixturevalue(fixture)
    loose = ("--gtid-mode=OFF", "--enforce-gtid-consistency=OFF")
    server = factory(*loose) if isinstance(factory, MySQLFactory) else factory()
    server.reset_logs()
    server.execute(CREATE)
    server.execute(MIXED)
    reports = run(spark, server.binlog_folder, lake_of(tmp_path))
    assert [(report.faults, report.gaps) for report in reports] == [((), ())] * 3
    lake = str(lake_of(tmp_path))
    rows = {"t": 0, "stays": 2, "told": 1, "audit": 3}
    for table, count in rows.items():
        assert assert_gold_equals_source(spark, server, lake, SCHEMA, table) == count
