"""What only MariaDB has, under each binlog_row_metadata, in one log: gold is what SELECT gives."""

from __future__ import annotations

from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from tests.e2e.conftest import Run
from tests.support.compare import assert_gold_equals_source
from tests.support.mariadb import NewestMariaDBServer
from tests.support.mariadb_changes import ADDRESSES, ELEMENTS, NEWEST

SCHEMA = "only_mariadb"
METADATA = ("NO_LOG", "MINIMAL", "FULL")


@pytest.mark.parametrize(
    "turn", [0, pytest.param(1, marks=pytest.mark.long), pytest.param(2, marks=pytest.mark.long)]
)
def test_gold_equals_the_source(
    spark: SparkSession, newest_mariadb: NewestMariaDBServer, run: Run, tmp_path: Path, turn: int
) -> None:
    """Each table is logged under one of the settings, and in the other turns under another.

    The log is taken in one run, in the other turns in two.
    """
    server, tables = newest_mariadb, {**ADDRESSES, **ELEMENTS, **NEWEST}
    server.execute(f"DROP DATABASE IF EXISTS {SCHEMA}")
    server.reset_logs()
    server.execute(f"CREATE DATABASE {SCHEMA} CHARACTER SET utf8mb4")
    try:
        for part in range(2):
            for number, (table, statements) in enumerate(tables.items(), turn):
                server.execute(f"SET GLOBAL binlog_row_metadata = {METADATA[number % 3]}")
                middle = len(statements) // 2
                with server.connect(database=SCHEMA) as connection, connection.cursor() as cursor:
                    for statement in statements[middle:] if part else statements[:middle]:
                        cursor.execute(statement.replace("{}", table))
            if part or turn:
                reports = run(server.binlog_folder, tmp_path)
                assert [report.faults for report in reports] == [()] * 3
    finally:
        server.execute("SET GLOBAL binlog_row_metadata = FULL")
    found = server.execute(
        "SELECT TABLE_NAME FROM information_schema.TABLES WHERE TABLE_SCHEMA = %s", [SCHEMA]
    )
    assert len(found) > len(tables)
    for (table,) in found:
        assert assert_gold_equals_source(spark, server, str(tmp_path), SCHEMA, table)
