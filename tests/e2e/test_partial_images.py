"""Row images that leave columns out, and JSON diffs: gold is what SELECT gives, run after run."""

from __future__ import annotations

import random
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from pipeline.lake import Lake
from pipeline.run import exit_code
from pipeline.settings import Settings
from pipeline.status import read_status
from tests.e2e.conftest import Run
from tests.support import partial_history
from tests.support.compare import assert_gold_equals_source
from tests.support.mysql import MySQLServer

SCHEMA = "partial_to_gold"
LEFT_OUT = f"""
    DROP DATABASE IF EXISTS {SCHEMA}; CREATE DATABASE {SCHEMA};
    CREATE TABLE {SCHEMA}.held (id INT NOT NULL PRIMARY KEY, a INT DEFAULT 7, b INT);
    CREATE TABLE {SCHEMA}.whole (id INT NOT NULL PRIMARY KEY, a INT);
    INSERT INTO {SCHEMA}.held VALUES (1, 10, 10), (2, 20, 20);
    INSERT INTO {SCHEMA}.whole VALUES (1, 10);
    SET binlog_row_image = MINIMAL;
    UPDATE {SCHEMA}.held SET a = 11 WHERE id = 1;
    INSERT INTO {SCHEMA}.held (id, b) VALUES (3, 30);
    UPDATE {SCHEMA}.held SET b = 31 WHERE id = 3;
    DELETE FROM {SCHEMA}.held WHERE id = 2;
    SET binlog_row_image = FULL;
    INSERT INTO {SCHEMA}.whole VALUES (2, 20);
"""


@pytest.mark.parametrize("compressed", [False, True], ids=["plain", "compressed"])
def test_gold_equals_the_source(
    spark: SparkSession, mysql: MySQLServer, run: Run, tmp_path: Path, *, compressed: bool
) -> None:
    chance = random.Random(11 + compressed)
    mysql.execute(f"DROP DATABASE IF EXISTS {SCHEMA}; CREATE DATABASE {SCHEMA}")
    mysql.reset_logs()
    mysql.execute(f"DROP DATABASE {SCHEMA}; CREATE DATABASE {SCHEMA}")
    statements = [partial_history.CREATE, *partial_history.statements(chance)]
    with mysql.connect(database=SCHEMA) as connection, connection.cursor() as cursor:
        cursor.execute(f"SET binlog_transaction_compression = {'ON' if compressed else 'OFF'}")
        for number, statement in enumerate(statements, start=1):
            cursor.execute(partial_history.settings(chance))
            if statement.startswith("INSERT"):  # the DEFAULTs of what it leaves out are not known
                cursor.execute("SET binlog_row_image = FULL")
            cursor.execute(statement)
            if number in (20, 90, len(statements)):
                reports = run(mysql.binlog_folder, tmp_path / "lake")
                assert [(report.faults, report.gaps) for report in reports] == [((), ())] * 3
                assert_gold_equals_source(spark, mysql, str(tmp_path / "lake"), SCHEMA, "t")


@pytest.fixture
def logs(mysql: MySQLServer) -> Path:
    """A folder with the closed files of rows inserted without all their columns."""
    mysql.reset_logs()
    mysql.execute(LEFT_OUT)
    mysql.flush_logs()
    return mysql.binlogs()[0]


def test_an_insert_that_leaves_columns_out_holds_its_table_and_no_other(
    spark: SparkSession, mysql: MySQLServer, logs: Path, run: Run, tmp_path: Path
) -> None:
    lake = Lake(str(tmp_path / "lake"))
    reports = run(logs, tmp_path / "lake")
    assert exit_code(reports) == 3
    assert any("whose DEFAULT is not known" in line for line in reports[1].faults)
    gold = spark.read.format("delta").load(lake.gold(SCHEMA, "held"))
    assert sorted(tuple(r[:3]) for r in gold.collect()) == [(1, 11, 10), (2, 20, 20)]
    assert_gold_equals_source(spark, mysql, lake.root, SCHEMA, "whole")


def test_where_conf_marks_faults_the_other_rows_go_on_and_no_equality_is_claimed(
    spark: SparkSession, logs: Path, run: Run, tmp_path: Path
) -> None:
    folder = tmp_path / "lake"
    run(logs, folder, on_fault="mark")
    gold = spark.read.format("delta").load(Lake(str(folder)).gold(SCHEMA, "held"))
    assert sorted(tuple(r[:3]) for r in gold.collect()) == [(1, 11, 10)]
    settings = Settings.load(None, source="e2e", lake=str(folder), on_fault="mark")
    complete = {table.table: table.complete for table in read_status(spark, settings).tables}
    assert complete == {"held": False, "whole": True}
