"""Partial row images: silver has them as logged, and gold holds or marks the table, no other."""

from __future__ import annotations

from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from pipeline.lake import Lake
from pipeline.run import exit_code
from pipeline.settings import Settings
from pipeline.status import read_status
from tests.e2e.conftest import Run
from tests.support.compare import assert_gold_equals_source
from tests.support.mysql import MySQLServer

SCHEMA = "partial_held"
HISTORY = f"""
    DROP DATABASE IF EXISTS {SCHEMA}; CREATE DATABASE {SCHEMA};
    CREATE TABLE {SCHEMA}.held (id INT NOT NULL PRIMARY KEY, a INT, j JSON);
    CREATE TABLE {SCHEMA}.whole (id INT NOT NULL PRIMARY KEY, a INT);
    INSERT INTO {SCHEMA}.held VALUES
        (1, 10, JSON_OBJECT('n', 1, 'long', REPEAT('x', 999))), (2, 20, NULL);
    INSERT INTO {SCHEMA}.whole VALUES (1, 10);
    SET binlog_row_image = MINIMAL;
    UPDATE {SCHEMA}.held SET a = 11 WHERE id = 1;
    SET binlog_row_image = FULL, binlog_row_value_options = PARTIAL_JSON;
    UPDATE {SCHEMA}.held SET j = JSON_SET(j, '$.n', 2) WHERE id = 1;
    SET binlog_row_value_options = '';
    INSERT INTO {SCHEMA}.held VALUES (3, 30, NULL);
    INSERT INTO {SCHEMA}.whole VALUES (2, 20);
"""


@pytest.fixture
def logs(mysql: MySQLServer) -> Path:
    """A folder with the closed files of that history."""
    mysql.reset_logs()
    mysql.execute(HISTORY)
    mysql.flush_logs()
    return mysql.binlogs()[0]


def test_the_table_is_held_before_its_first_partial_image(
    spark: SparkSession, mysql: MySQLServer, logs: Path, run: Run, tmp_path: Path
) -> None:
    lake = Lake(str(tmp_path / "lake"))
    reports = run(logs, tmp_path / "lake")
    assert exit_code(reports) == 3
    assert any("binlog_row_image" in line for line in reports[1].faults), reports[1].faults
    changes = spark.read.format("delta").load(lake.changes(SCHEMA, "held", 1)).orderBy("__lsn")
    found = [(r["__op"], r["__absent_after"], r["__json_diff"]) for r in changes.collect()]
    diff = {"j": '[{"op":"replace","path":"$.n","value":2}]'}
    assert found == [
        ("insert", None, None),
        ("insert", None, None),
        ("update", ["id", "j"], None),
        ("update", None, diff),
        ("insert", None, None),
    ]
    gold = spark.read.format("delta").load(lake.gold(SCHEMA, "held"))
    assert sorted((r["id"], r["a"]) for r in gold.collect()) == [(1, 10), (2, 20)]
    assert_gold_equals_source(spark, mysql, lake.root, SCHEMA, "whole")


def test_where_conf_marks_faults_the_other_rows_go_on_and_no_equality_is_claimed(
    spark: SparkSession, logs: Path, run: Run, tmp_path: Path
) -> None:
    folder = tmp_path / "lake"
    run(logs, folder, on_fault="mark")
    gold = spark.read.format("delta").load(Lake(str(folder)).gold(SCHEMA, "held"))
    assert sorted((r["id"], r["a"]) for r in gold.collect()) == [(1, 10), (2, 20), (3, 30)]
    settings = Settings.load(None, source="e2e", lake=str(folder), on_fault="mark")
    complete = {table.table: table.complete for table in read_status(spark, settings).tables}
    assert complete == {"held": False, "whole": True}
