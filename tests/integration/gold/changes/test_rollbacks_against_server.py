"""Savepoints and rollbacks of real servers: rolled-back changes are not in gold.

MySQL removes them from what it logs. MariaDB logs them, followed by ROLLBACK TO, if a transaction
changed a table that cannot be rolled back.
"""

from __future__ import annotations

from pathlib import Path

from pyspark.sql import SparkSession

from pipeline.lake import Lake, delta
from tests.support.gold.compare import assert_gold_equals_source
from tests.support.history.apply import lake_of, run
from tests.support.servers.mariadb import MariaDBServer
from tests.support.servers.mysql import MySQLFactory, MySQLServer
from tests.support.servers.server import Server

SCHEMA = "taken_back"
BEGIN = f"DROP DATABASE IF EXISTS {SCHEMA}; CREATE DATABASE {SCHEMA}"
CREATE = f"""
    CREATE TABLE {SCHEMA}.t (id INT NOT NULL PRIMARY KEY, v VARCHAR(40));
    CREATE TABLE {SCHEMA}.stays (id INT NOT NULL PRIMARY KEY, v VARCHAR(40)) ENGINE=MyISAM;
    CREATE TABLE {SCHEMA}.audited (id INT NOT NULL PRIMARY KEY, v VARCHAR(40));
    CREATE TABLE {SCHEMA}.audit (id INT NOT NULL PRIMARY KEY, v VARCHAR(40)) ENGINE=MyISAM;
    CREATE TRIGGER {SCHEMA}.audits AFTER INSERT ON {SCHEMA}.audited FOR EACH ROW
        INSERT INTO {SCHEMA}.audit VALUES (NEW.id, NEW.v)
"""
MIXED = f"""
    BEGIN;
    INSERT INTO {SCHEMA}.t VALUES (10, 'gone');
    INSERT INTO {SCHEMA}.stays VALUES (10, 'stays'), (11, 'too');
    UPDATE {SCHEMA}.stays SET v = 'changed' WHERE id = 10;
    INSERT INTO {SCHEMA}.audited VALUES (1, 'gone');
    ROLLBACK;
    BEGIN;
    INSERT INTO {SCHEMA}.audited VALUES (2, 'kept');
    SAVEPOINT s;
    INSERT INTO {SCHEMA}.audited VALUES (3, 'gone');
    ROLLBACK TO s;
    COMMIT
"""
"""Rolled back, with tables of a non-transactional engine: changed directly and by a trigger."""


def session(table: str, between: str) -> str:
    """Leave two rows in the table; `between` runs after the savepoint."""
    insert = f"INSERT INTO {SCHEMA}.{table} VALUES"
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


def run_without_faults(spark: SparkSession, server: Server, folder: Path) -> str:
    """Run all layers without faults; return the lake."""
    reports = run(spark, server.binlog_folder, lake_of(folder))
    assert [(report.faults, report.gaps) for report in reports] == [((), ())] * 3
    return str(lake_of(folder))


def rows_in_silver(spark: SparkSession, lake: str, table: str) -> int:
    """Return the number of logged rows."""
    return delta.read(spark, Lake(lake).changes(SCHEMA, table, 1)).count()


def test_rolled_back_rows_are_not_in_gold_on_mysql(
    spark: SparkSession, mysql: MySQLServer, tmp_path: Path
) -> None:
    mysql.reset_logs()
    mysql.execute(BEGIN)
    for compression in ("OFF", "ON"):
        name = f"t_{compression}"
        mysql.execute(f"CREATE TABLE {SCHEMA}.{name} (id INT PRIMARY KEY, v VARCHAR(40))")
        setting = f"SET SESSION binlog_transaction_compression = {compression};"
        between = f"INSERT INTO {SCHEMA}.{name} VALUES (7, 'g')"
        mysql.execute(setting + session(name, between))
    lake = run_without_faults(spark, mysql, tmp_path)
    for name in ("t_OFF", "t_ON"):
        assert assert_gold_equals_source(spark, mysql, lake, SCHEMA, name) == 2
        assert rows_in_silver(spark, lake, name) == 2


def test_rows_kept_by_a_nontransactional_engine_are_in_gold(
    spark: SparkSession, mysql_factory: MySQLFactory, tmp_path: Path
) -> None:
    """MySQL allows such transactions only without enforce_gtid_consistency."""
    server = mysql_factory("--gtid-mode=OFF", "--enforce-gtid-consistency=OFF")
    server.execute(BEGIN)
    server.execute(CREATE)
    server.execute(MIXED)
    lake = run_without_faults(spark, server, tmp_path)
    rows = {"t": 0, "stays": 2, "audited": 1, "audit": 3}
    for table, count in rows.items():
        assert assert_gold_equals_source(spark, server, lake, SCHEMA, table) == count


def test_rolled_back_rows_are_not_in_gold_on_mariadb(
    spark: SparkSession, mariadb: MariaDBServer, tmp_path: Path
) -> None:
    """Savepoints, and rows kept by a non-transactional engine."""
    mariadb.reset_logs()
    mariadb.execute(BEGIN)
    mariadb.execute(CREATE)
    mariadb.execute(session("t", f"INSERT INTO {SCHEMA}.stays VALUES (1, 'stays')"))
    mariadb.execute(MIXED)
    lake = run_without_faults(spark, mariadb, tmp_path)
    rows = {"t": 2, "stays": 3, "audited": 1, "audit": 3}
    for table, count in rows.items():
        assert assert_gold_equals_source(spark, mariadb, lake, SCHEMA, table) == count
    assert rows_in_silver(spark, lake, "t") > 3
