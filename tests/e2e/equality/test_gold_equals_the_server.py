"""The main guarantee: whatever the server's settings, the published gold equals SELECT."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest
from deltalake import DeltaTable
from pyspark.sql import SparkSession

import decoder
from pipeline.lake import Lake
from tests.e2e.conftest import Run
from tests.support.gold.compare import assert_gold_equals_source
from tests.support.lake.table_rows import assert_spark_reads_it_so, read_table
from tests.support.servers import traffic
from tests.support.servers.mysql import MySQLFactory, MySQLServer
from tests.support.zoo import type_zoo

ZOO = "zoo"
WITHOUT_GTIDS = "checksums and GTIDs off"
LARGE = "account", "other"
"""The tables whose last changes are applied like a large batch: to existing rows, and to a new
table. Last, since few changes of tables with deletion vectors are Spark's, too.
"""
OTHER = f"""
    CREATE TABLE {traffic.SCHEMA}.other LIKE {traffic.SCHEMA}.account;
    INSERT INTO {traffic.SCHEMA}.other SELECT * FROM {traffic.SCHEMA}.account;
    DELETE FROM {traffic.SCHEMA}.other WHERE id % 3 = 0
"""
SETTINGS: dict[str, tuple[Sequence[str], int]] = {
    "defaults": ((), 300),
    "compressed transactions": (("binlog_transaction_compression = ON",), 100),
    "many small files": (("binlog_transaction_compression = OFF", "max_binlog_size = 4096"), 100),
    WITHOUT_GTIDS: (
        (
            "max_binlog_size = DEFAULT",
            "binlog_checksum = NONE",
            "gtid_mode = ON_PERMISSIVE",
            "gtid_mode = OFF_PERMISSIVE",
            "gtid_mode = OFF",
            "enforce_gtid_consistency = OFF",
        ),
        100,
    ),
}
"""Server settings, applied one after the other, with the number of transactions under each."""
SMALL_SEGMENTS = {"target": 64 * 1024, "batch": 256 * 1024}


def is_logged_so(name: str, logs: Sequence[Path]) -> bool:
    """True if the logs of a setting's transactions show the setting."""
    found = [event.header.name for file in logs for event in decoder.events(file.read_bytes())]
    shown = {
        "compressed transactions": "TRANSACTION_PAYLOAD" in found,
        "many small files": len(logs) > 10,
        WITHOUT_GTIDS: "GTID" not in found and "ANONYMOUS_GTID" in found,
    }
    return shown.get(name, "GTID" in found and "TRANSACTION_PAYLOAD" not in found)


def test_gold_equals_the_server_after_a_mixed_workload_under_each_setting(
    spark: SparkSession,
    mysql_factory: MySQLFactory,
    run: Run,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    server, lake = mysql_factory(), tmp_path / "lake"
    for number, (name, (variables, count)) in enumerate(SETTINGS.items()):
        for variable in variables:
            server.execute(f"SET GLOBAL {variable}")
        server.flush_logs()
        before = server.binlogs()[:-1]
        with server.connect() as connection:
            traffic.run(connection, count, seed=20261121 + number, create=number == 0)
        server.flush_logs()
        assert is_logged_so(name, server.binlogs()[len(before) : -1]), name
        settings = {"segments": SMALL_SEGMENTS, "drift": True}
        reports = run(server.binlog_folder, lake, **settings)
        assert [(report.faults, report.gaps) for report in reports] == [((), ())] * 3, name
        for (table,) in server.execute(f"SHOW TABLES FROM {traffic.SCHEMA}"):
            assert_gold_equals_source(spark, server, str(lake), traffic.SCHEMA, table)

    with server.connect() as connection, connection.cursor() as cursor:
        for statements in traffic.transactions(100, seed=20261130):
            for text, parameters in statements:
                if f"{traffic.SCHEMA}.account" in text:
                    cursor.execute(text, parameters)
        connection.commit()
    server.execute(OTHER)
    monkeypatch.setattr("pipeline.gold.changes.small_batch.FEW", -1)
    reports = run(server.binlog_folder, lake, segments=SMALL_SEGMENTS, drift=False)
    assert [(report.faults, report.gaps) for report in reports] == [((), ())] * 3
    for table in LARGE:
        assert_gold_equals_source(spark, server, str(lake), traffic.SCHEMA, table)
        (last,) = DeltaTable(Lake(str(lake)).gold(traffic.SCHEMA, table)).history(1)
        assert "Apache-Spark" in last["engineInfo"], table


def test_gold_equals_the_server_for_edge_cases_of_every_type(
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
    read_by_spark: set[str] = set()
    for name in names:
        assert_gold_equals_source(spark, mysql, str(lake), ZOO, name)
        gold = Lake(str(lake)).gold(ZOO, name)
        types = {field.dataType.simpleString() for field in read_table(gold)[0]}
        if not types <= read_by_spark:
            assert_spark_reads_it_so(spark, gold)
        read_by_spark |= types
