"""A real server changed outside its log: changes that meet drifted rows are counted."""

from __future__ import annotations

from pathlib import Path

from pyspark.sql import SparkSession

from pipeline.gold.changes.drift import Drift
from pipeline.lake import Lake, Ledger
from pipeline.observe.progress import QuietProgress
from pipeline.run import read_status
from pipeline.settings import Settings
from tests.support.gold.compare import assert_gold_equals_source
from tests.support.lake.run_layers import run_layers
from tests.support.servers.mysql import MySQLServer

SCHEMA = "drifting"
LOGGED = f"""
    DROP DATABASE IF EXISTS {SCHEMA}; CREATE DATABASE {SCHEMA}; USE {SCHEMA};
    CREATE TABLE t (id INT PRIMARY KEY, v VARCHAR(9));
    CREATE TABLE u LIKE t;
    INSERT INTO t VALUES (1, 'a'), (2, 'b'), (3, 'c'); INSERT INTO u VALUES (1, 'a');
"""
OUTSIDE = f"""
    USE {SCHEMA};
    SET sql_log_bin = 0;
    UPDATE t SET v = 'other' WHERE id = 1; DELETE FROM t WHERE id = 2;
    INSERT INTO t VALUES (4, 'd');
    SET sql_log_bin = 1;
    UPDATE t SET v = 'e' WHERE id IN (1, 3, 4); INSERT INTO t VALUES (2, 'f');
    UPDATE u SET v = 'b';
"""


def test_changes_outside_the_log_are_counted_and_reported(
    spark: SparkSession, mysql: MySQLServer, tmp_path: Path
) -> None:
    mysql.reset_logs()
    settings = Settings.load(
        None, source="e2e", binlogs=str(mysql.binlog_folder), lake=str(tmp_path / "lake")
    )
    mysql.execute(LOGGED)
    run_layers(spark, settings, QuietProgress())
    mysql.execute(OUTSIDE)
    *_, gold = run_layers(spark, settings, QuietProgress())
    (note,) = gold.notes
    assert note.startswith(f"{SCHEMA}.t: for 3 of 4 checked changes, gold's row")
    record = Ledger(spark, Lake(settings.lake), settings.source).record("gold")
    assert record is not None
    assert Drift.of(record["drift"][f"{SCHEMA}.t"]) == Drift(4, missing=1, extra=1, different=1)
    status = read_status(spark, settings)
    assert {table.table: table.drift for table in status.tables} == {"t": 3, "u": 0}
    # Logged changes are applied all the same.
    assert assert_gold_equals_source(spark, mysql, settings.lake, SCHEMA, "t") == 4
