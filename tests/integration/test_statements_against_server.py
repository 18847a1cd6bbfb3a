"""DML that a real server logs as statements: only the tables that it changes are held."""

from __future__ import annotations

from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from pipeline.gold.state import GoldState
from pipeline.lake import Lake
from pipeline.ledger import Ledger
from pipeline.progress import QuietProgress
from pipeline.run import run_layers
from pipeline.settings import Settings
from pipeline.status import read_status
from tests.support.compare import assert_gold_equals_source
from tests.support.history.apply import SOURCE, lake_of, run
from tests.support.mariadb import MariaDBServer
from tests.support.mysql import MySQLServer

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


@pytest.fixture
def server(mysql: MySQLServer) -> MySQLServer:
    mysql.execute(f"DROP DATABASE IF EXISTS {SCHEMA}")
    mysql.reset_logs()
    mysql.execute(CREATE)
    return mysql


def held(spark: SparkSession, folder: Path) -> set[str]:
    plan = Ledger(spark, Lake(str(lake_of(folder))), SOURCE).last("gold")
    assert plan is not None
    state = GoldState.from_body(plan.body)
    assert state.cut_held is None
    return {table.table for table in state.tables.values() if table.held}


def test_the_tables_that_it_changes_are_held_and_no_others(
    spark: SparkSession, server: MySQLServer, tmp_path: Path
) -> None:
    server.execute(MIXED)
    run(spark, server.binlog_folder, lake_of(tmp_path))
    # `fired` by the trigger on `named`, which may have fired.
    assert held(spark, tmp_path) == {"named", "fired"}
    for table in ("beside", "apart"):
        assert_gold_equals_source(spark, server, str(lake_of(tmp_path)), SCHEMA, table)
    settings = Settings.load(None, source=SOURCE, lake=str(lake_of(tmp_path)))
    (named,) = [t for t in read_status(spark, settings).tables if t.table == "named"]
    assert named.reason is not None
    assert "INSERT INTO t SELECT * FROM t_old" in named.reason


@pytest.mark.long
def test_so_it_is_on_mariadb_and_so_is_the_way_back(
    spark: SparkSession, mariadb: MariaDBServer, tmp_path: Path
) -> None:
    mariadb.execute(f"DROP DATABASE IF EXISTS {SCHEMA}")
    mariadb.reset_logs()
    mariadb.execute(CREATE)
    mariadb.execute(MIXED)
    run(spark, mariadb.binlog_folder, lake_of(tmp_path))
    assert held(spark, tmp_path) == {"named", "fired"}
    for table in ("beside", "apart"):
        assert_gold_equals_source(spark, mariadb, str(lake_of(tmp_path)), SCHEMA, table)
    mariadb.execute(BACK)
    run(spark, mariadb.binlog_folder, lake_of(tmp_path))
    assert "named" not in held(spark, tmp_path)
    assert_gold_equals_source(spark, mariadb, str(lake_of(tmp_path)), SCHEMA, "named")


def test_the_way_back_that_status_tells_is_one(
    spark: SparkSession, server: MySQLServer, tmp_path: Path
) -> None:
    server.execute(MIXED)
    run(spark, server.binlog_folder, lake_of(tmp_path))
    server.execute(BACK)
    run(spark, server.binlog_folder, lake_of(tmp_path))
    assert "named" not in held(spark, tmp_path)
    assert_gold_equals_source(spark, server, str(lake_of(tmp_path)), SCHEMA, "named")


def test_what_a_table_that_is_left_out_changes_is_held(
    spark: SparkSession, server: MySQLServer, tmp_path: Path
) -> None:
    server.execute(MIXED)
    options = {"binlogs": str(server.binlog_folder), "lake": str(lake_of(tmp_path))}
    settings = Settings.load(None, source=SOURCE, exclude=[f"{SCHEMA}.named"], **options)
    run_layers(spark, settings, QuietProgress())
    assert held(spark, tmp_path) == {"fired"}


def test_marked_tables_keep_the_rows_that_the_log_has(
    spark: SparkSession, server: MySQLServer, tmp_path: Path
) -> None:
    server.execute(MIXED)
    lake = lake_of(tmp_path)
    options = {"source": SOURCE, "binlogs": str(server.binlog_folder), "lake": str(lake)}
    run_layers(spark, Settings.load(None, **options, on_fault="mark"), QuietProgress())
    plan = Ledger(spark, Lake(str(lake)), SOURCE).last("gold")
    assert plan is not None
    tables = {t.table: t for t in GoldState.from_body(plan.body).tables.values()}
    assert {name for name, t in tables.items() if not t.complete} == {"named", "fired"}
    for table in ("beside", "apart"):
        assert_gold_equals_source(spark, server, str(lake), SCHEMA, table)
