"""DML that a real server logs as statements: only the tables it changes are held."""

from __future__ import annotations

from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from pipeline.gold import GoldState
from pipeline.lake import Lake, Ledger
from pipeline.observe.progress import QuietProgress
from pipeline.run import read_status
from pipeline.settings import Settings
from tests.support.gold.compare import assert_gold_equals_source
from tests.support.history.apply import SOURCE, lake_of, run
from tests.support.lake.run_layers import run_layers
from tests.support.servers.mariadb import MariaDBServer
from tests.support.servers.mysql import MySQLServer
from tests.support.servers.server import Server

SCHEMA = "mix"
CREATE = f"""
    DROP DATABASE IF EXISTS {SCHEMA};
    CREATE DATABASE {SCHEMA};
    USE {SCHEMA};
    CREATE TABLE named (id INT NOT NULL PRIMARY KEY, v INT);
    CREATE TABLE beside (id INT NOT NULL PRIMARY KEY, v INT);
    CREATE TABLE fired (id INT NOT NULL PRIMARY KEY AUTO_INCREMENT, v INT);
    CREATE TABLE apart (id INT NOT NULL PRIMARY KEY, v INT);
    CREATE TRIGGER audit AFTER INSERT ON named FOR EACH ROW INSERT INTO fired (v) VALUES (NEW.id);
    INSERT INTO apart VALUES (1, 1)
"""
MIXED = f"""
    USE {SCHEMA};
    SET SESSION binlog_format = MIXED;
    BEGIN;
    INSERT INTO beside VALUES (1, FLOOR(RAND() * 9) + CHAR_LENGTH(UUID()));
    UPDATE named SET v = 2 WHERE id = 1;
    INSERT INTO apart VALUES (2, CHAR_LENGTH(UUID()));
    COMMIT;
    SET SESSION binlog_format = ROW;
    BEGIN;
    INSERT INTO apart VALUES (3, 3);
    COMMIT
"""
BACK = f"""
    USE {SCHEMA};
    RENAME TABLE named TO named_old;
    CREATE TABLE named (id INT NOT NULL PRIMARY KEY, v INT);
    INSERT INTO named SELECT * FROM named_old
"""


def held(spark: SparkSession, folder: Path) -> set[str]:
    plan = Ledger(spark, Lake(str(lake_of(folder))), SOURCE).last("gold")
    assert plan is not None
    state = GoldState.from_body(plan.body)
    assert state.cut_held is None
    return {table.table for table in state.tables.values() if table.held}


def begin(server: Server) -> None:
    """Return a log with statements and rows."""
    server.execute(f"DROP DATABASE IF EXISTS {SCHEMA}")
    server.reset_logs()
    server.execute(CREATE)
    server.execute(MIXED)


def check_held_tables_and_remedy(spark: SparkSession, server: Server, folder: Path) -> None:
    """Check that only the changed tables are held, and that the remedy in `status` works."""
    lake = lake_of(folder)
    run(spark, server.binlog_folder, lake)
    # The statement on `named` may have fired a trigger that changes `fired`.
    assert held(spark, folder) == {"named", "fired"}
    for table in ("beside", "apart"):
        assert_gold_equals_source(spark, server, str(lake), SCHEMA, table)
    settings = Settings.load(None, source=SOURCE, lake=str(lake))
    (named,) = [t for t in read_status(spark, settings).tables if t.table == "named"]
    assert named.reason is not None
    assert "INSERT INTO t SELECT * FROM t_old" in named.reason
    server.execute(BACK)
    run(spark, server.binlog_folder, lake)
    assert "named" not in held(spark, folder)
    assert_gold_equals_source(spark, server, str(lake), SCHEMA, "named")


def test_only_the_tables_changed_by_statements_are_held(
    spark: SparkSession, mysql: MySQLServer, tmp_path: Path
) -> None:
    begin(mysql)
    options = {"source": SOURCE, "binlogs": str(mysql.binlog_folder)}
    # marked tables keep the rows from the log
    marked = lake_of(tmp_path / "marked")
    settings = Settings.load(None, **options, lake=str(marked), on_fault="mark")
    run_layers(spark, settings, QuietProgress())
    plan = Ledger(spark, Lake(str(marked)), SOURCE).last("gold")
    assert plan is not None
    tables = {t.table: t for t in GoldState.from_body(plan.body).tables.values()}
    assert {name for name, t in tables.items() if not t.complete} == {"named", "fired"}
    for table in ("beside", "apart"):
        assert_gold_equals_source(spark, mysql, str(marked), SCHEMA, table)
    # statements of an excluded table hold the tables they change
    without = tmp_path / "without"
    excluded = {"exclude": [f"{SCHEMA}.named"]}
    settings = Settings.load(None, **options, lake=str(lake_of(without)), **excluded)
    run_layers(spark, settings, QuietProgress())
    assert held(spark, without) == {"fired"}
    check_held_tables_and_remedy(spark, mysql, tmp_path)


@pytest.mark.long
def test_only_the_tables_changed_by_statements_are_held_on_mariadb(
    spark: SparkSession, mariadb: MariaDBServer, tmp_path: Path
) -> None:
    begin(mariadb)
    check_held_tables_and_remedy(spark, mariadb, tmp_path)
