"""Logged statements on temporary tables do not affect permanent tables."""

from __future__ import annotations

from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from pipeline.observe.progress import QuietProgress
from pipeline.settings import Settings
from tests.support.gold.compare import assert_gold_equals_source
from tests.support.lake.run_layers import run_layers
from tests.support.servers.server import Server

SCHEMA = "temporary"
STATEMENTS = (
    "CREATE TABLE t (id INT PRIMARY KEY, v VARCHAR(10))",
    "INSERT INTO t VALUES (1, 'a'), (2, 'b')",
    "SET SESSION binlog_format = STATEMENT",
    "CREATE TEMPORARY TABLE t (id INT PRIMARY KEY, n INT, m INT)",
    "ALTER TABLE t ADD x INT DEFAULT 5, DROP n",
    "CREATE UNIQUE INDEX i ON t (x)",
    "TRUNCATE t",
    "CREATE TABLE like_temporary LIKE t",
    "ALTER TABLE t RENAME TO other",
    "ALTER TABLE other RENAME TO t",
    "DROP TABLE t",
    # from here on, the permanent table again
    "ALTER TABLE t ADD y INT DEFAULT 7",
    "CREATE TEMPORARY TABLE t (id INT)",
    "CREATE TABLE u (id INT PRIMARY KEY)",
    "DROP TABLE t, u",
)


@pytest.mark.parametrize("fixture", ["mysql", "mariadb", "newest_mariadb"])
def test_gold_has_the_permanent_tables(
    spark: SparkSession, fixture: str, request: pytest.FixtureRequest, tmp_path: Path
) -> None:
    server: Server = request.getfixturevalue(fixture)
    server.execute(f"DROP DATABASE IF EXISTS {SCHEMA}")
    server.reset_logs()
    server.execute(f"CREATE DATABASE {SCHEMA}")
    with server.connect(database=SCHEMA) as connection, connection.cursor() as cursor:
        for statement in STATEMENTS:
            cursor.execute(statement)
    server.execute(f"INSERT INTO {SCHEMA}.t VALUES (3, 'c', 8)")
    server.execute(f"INSERT INTO {SCHEMA}.like_temporary VALUES (1, 2, 3)")
    settings = Settings.load(
        None, source="e2e", binlogs=str(server.binlog_folder), lake=str(tmp_path / "lake")
    )
    reports = run_layers(spark, settings, QuietProgress())
    assert [(report.faults, report.gaps) for report in reports] == [((), ())] * 3
    assert assert_gold_equals_source(spark, server, settings.lake, SCHEMA, "t") == 3
    assert assert_gold_equals_source(spark, server, settings.lake, SCHEMA, "like_temporary") == 1
