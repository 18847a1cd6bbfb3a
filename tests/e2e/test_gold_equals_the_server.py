"""The main promise: whatever the server's settings, gold at the cut is what SELECT gives."""

from __future__ import annotations

from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from tests.e2e.conftest import Run
from tests.support import traffic, type_zoo
from tests.support.compare import assert_gold_equals_source
from tests.support.mysql import MySQLFactory, MySQLServer

SERVERS = {
    "defaults": (),
    "compressed transactions": ("--binlog-transaction-compression=ON",),
    "checksums and GTIDs off": (
        "--binlog-checksum=NONE",
        "--gtid-mode=OFF",
        "--enforce-gtid-consistency=OFF",
    ),
    "many small files": ("--max-binlog-size=4096",),
}
ZOO = "zoo"
TABLES = [(traffic.SCHEMA, name) for name in ("account", "line", "word", "digest")]


PARTS = {
    "defaults": (10_000, 1_000),
    # A file of 4096 bytes each few transactions: as many files as ten thousand would need of them
    # take minutes to write alone.
    "many small files": (1_000,),
}
"""How many transactions come before each run; one run after 3,000 where nothing is said."""


@pytest.mark.parametrize(
    ("options", "parts"),
    [(options, PARTS.get(name, (3_000,))) for name, options in SERVERS.items()],
    ids=list(SERVERS),
)
def test_after_a_mixed_workload(
    spark: SparkSession,
    mysql_factory: MySQLFactory,
    run: Run,
    tmp_path: Path,
    options: tuple[str, ...],
    parts: tuple[int, ...],
) -> None:
    server = mysql_factory(*options)
    lake = tmp_path / "lake"
    for number, count in enumerate(parts):
        with server.connect() as connection:
            traffic.run(connection, count, seed=20261121 + number, create=number == 0)
        reports = run(server.binlog_folder, lake)
        assert [(report.faults, report.gaps) for report in reports] == [((), ())] * 3
        for schema, table in TABLES:
            assert_gold_equals_source(spark, server, str(lake), schema, table)


def test_after_every_type_at_its_edges(
    spark: SparkSession, mysql: MySQLServer, run: Run, tmp_path: Path
) -> None:
    mysql.execute(f"DROP DATABASE IF EXISTS {ZOO}")
    mysql.reset_logs()
    mysql.execute(f"CREATE DATABASE {ZOO}")
    for create, statements in type_zoo.TABLES:
        with mysql.connect(database=ZOO) as connection, connection.cursor() as cursor:
            cursor.execute(create)
            for statement in statements:
                cursor.execute(statement)
    lake = tmp_path / "lake"
    reports = run(mysql.binlog_folder, lake)
    assert [(report.faults, report.gaps) for report in reports] == [((), ())] * 3
    names = [name for (name,) in mysql.execute(f"SHOW TABLES FROM {ZOO}")]
    assert len(names) == len(type_zoo.TABLES)
    for name in names:
        assert_gold_equals_source(spark, mysql, str(lake), ZOO, name)
