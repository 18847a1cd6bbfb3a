"""A MariaDB server's logs to gold, in two runs: equal to SELECT after each."""

from __future__ import annotations

import random
import shutil
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from tests.e2e.conftest import Run
from tests.support.gold.compare import assert_gold_equals_source
from tests.support.servers.mariadb import MariaDBFactory, MariaDBServer

SCHEMA = "stock"
TABLES = ("items", "moves")
CREATE = """
    CREATE TABLE items (
        id INT UNSIGNED NOT NULL PRIMARY KEY, name VARCHAR(80) NOT NULL, price DECIMAL(12,3),
        kind ENUM('a', 'b', 'ü'), seen DATETIME(3), at TIMESTAMP(6) NULL, note TEXT,
        raw VARBINARY(9));
    CREATE TABLE moves (
        item INT UNSIGNED, n SMALLINT, big BIGINT UNSIGNED, t TIME(2), d DATE, f DOUBLE,
        PRIMARY KEY (item, n))
"""


@pytest.fixture(scope="module")
def server(mariadb_factory: MariaDBFactory) -> MariaDBServer:
    return mariadb_factory("--log-bin-compress=ON", "--log-bin-compress-min-len=60")


def write(cursor: Any, chance: random.Random, count: int) -> None:
    """Run transactions of one or two statements; some are rolled back."""
    for _ in range(count):
        item, n = chance.randint(1, 60), chance.randint(-5, 5)
        cursor.execute("BEGIN")
        cursor.execute(
            "REPLACE INTO items VALUES (%s, %s, %s, %s, NOW(3), NOW(6), %s, %s)",
            (item, "ö" * n, item / 8, chance.choice("abü"), "long " * 5 * item, b"\0\xff"),
        )
        cursor.execute(
            "INSERT INTO moves VALUES (%s, %s, 18446744073709551615, '-838:59:59', NOW(), 0.1)"
            " ON DUPLICATE KEY UPDATE big = big - 1, f = f / 3",
            (item, n),
        )
        if item % 9 == 0:
            cursor.execute("DELETE FROM moves WHERE item < %s", (item,))
        cursor.execute("ROLLBACK" if n == 5 else "COMMIT")


def test_gold_equals_the_source_after_each_run(
    spark: SparkSession, server: MariaDBServer, run: Run, tmp_path: Path
) -> None:
    server.reset_logs()
    server.execute(f"CREATE DATABASE {SCHEMA}")
    chance = random.Random(3)
    logs = tmp_path / "logs"
    logs.mkdir()
    for part in range(2):
        with server.connect(database=SCHEMA) as connection, connection.cursor() as cursor:
            if part == 0:
                for statement in CREATE.split(";"):
                    cursor.execute(statement)
            write(cursor, chance, 120)
        server.flush_logs()
        for file in server.binlogs()[:-1]:
            shutil.copy(file, logs)
        reports = run(logs, tmp_path / "lake")
        assert all(report.clean for report in reports), reports
        for table in TABLES:
            assert assert_gold_equals_source(spark, server, str(tmp_path / "lake"), SCHEMA, table)
