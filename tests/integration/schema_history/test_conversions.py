"""Every supported conversion on real servers: gold equals the server's SELECT afterwards.

All columns are converted by one ALTER TABLE, so that each server needs one table.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import zip_longest
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from pipeline.lake import Lake
from pipeline.observe.progress import QuietProgress
from pipeline.schema_history.ddl import conversion_mode
from pipeline.schema_history.timeline.stored_timeline import read_items
from pipeline.settings import Settings
from tests.support.gold.compare import assert_gold_equals_source
from tests.support.lake.run_layers import run_layers
from tests.support.servers.server import Server

SCHEMA = "converting"
DAYS = (
    *("'2024-02-29'", "'0001-01-01'", "'1582-10-10'", "'1000-01-01'", "'9999-12-31'"),
    "'1970-01-01'",
)
BOTH: tuple[tuple[str, str, tuple[str, ...]], ...] = (
    ("INT", "BIGINT", ("-2147483648", "0", "2147483647")),
    ("INT", "TINYINT", ("-128", "0", "127")),
    ("INT", "INT UNSIGNED", ("0", "2147483647")),
    ("BIGINT UNSIGNED", "BIGINT", ("0", "9223372036854775807")),
    ("BIGINT", "BIGINT UNSIGNED", ("0", "9223372036854775807")),
    ("BIGINT", "DECIMAL(20,1)", ("-9223372036854775808", "5")),
    ("BIGINT", "DOUBLE", ("9007199254740993", "-9223372036854775807", "9223372036854775807")),
    ("MEDIUMINT", "FLOAT", ("-8388608", "8388607")),
    ("INT", "FLOAT", ("16777217", "2147483647", "-33554435")),
    ("BIGINT", "VARCHAR(20)", ("-9223372036854775808", "0", "7")),
    ("SMALLINT", "TEXT", ("-32768", "0")),
    ("SMALLINT", "CHAR(8)", ("-32768", "0")),
    ("DECIMAL(10,4)", "DECIMAL(8,2)", ("1.2350", "-1.2350", "1.2349", "0.0049", "-0.0050")),
    ("DECIMAL(38,10)", "DECIMAL(38,0)", ("0.5", "-0.5", "1234567890123456789012345678.5")),
    ("DECIMAL(5,2)", "DECIMAL(30,10)", ("-999.99", "0.01")),
    ("DECIMAL(14,3)", "INT", ("0.500", "-0.500", "2.499", "-2147483648.000")),
    ("DECIMAL(30,10)", "DOUBLE", ("0.1", "12345678901234567890.0123456789", "-0.0000000001")),
    ("FLOAT", "DOUBLE", ("0.1", "-3.4e38", "1e-40")),
    ("DOUBLE", "FLOAT", ("0.1", "1.00000006", "-3.4e38", "1e-46")),
    ("DOUBLE", "INT", ("0.5", "1.5", "2.5", "-0.5", "-1.5", "2147483646.6")),
    ("VARCHAR(20)", "VARCHAR(30)", ("'a  '", "''", "'é'")),
    ("VARCHAR(20)", "VARCHAR(4)", ("'abcd'", "'ab '", "'éééé'", "''")),
    ("VARCHAR(20)", "CHAR(4)", ("'abcd    '", "'a '", "'  é '", "'\\t'")),
    ("CHAR(20)", "VARCHAR(20)", ("'a  '", "' b'", "''")),
    ("CHAR(20)", "CHAR(5)", ("'a  '", "'abcde'")),
    ("VARCHAR(20)", "TEXT", ("'a  '", "'é'")),
    ("TINYTEXT", "VARCHAR(5)", ("'abc      '", "'abcde'", "''")),
    ("TEXT", "LONGTEXT", ("'a  '",)),
    ("VARBINARY(5)", "BINARY(5)", ("'a'", "''", "'abcde'", "x'00ff'")),
    ("BINARY(4)", "VARBINARY(4)", ("'a'", "''")),
    ("BINARY(2)", "BINARY(6)", ("'a'", "'ab'")),
    ("VARBINARY(5)", "BLOB", ("'a '", "x'00'")),
    ("BLOB", "VARBINARY(5)", ("'a '", "x'00'")),
    ("ENUM('b','a','c')", "ENUM('c','a','x','b')", ("'a'", "'b'", "'c'")),
    ("ENUM('b','a')", "VARCHAR(3)", ("'a'", "'b'")),
    ("SET('b','a')", "SET('x','b','y','a')", ("'a,b'", "''", "'a'")),
    ("SET('b','a')", "CHAR(5)", ("'a,b'", "''")),
    ("DATE", "DATETIME(3)", ("'2024-02-29'", "'0001-01-01'", "'9999-12-31'")),
    ("DATETIME", "DATE", ("'2024-02-29 23:59:59'", "'1000-01-01 00:00:00'")),
    ("DATETIME", "DATETIME(6)", ("'2024-02-29 23:59:59'",)),
    (
        "DATETIME(6)",
        "DATETIME(2)",
        ("'2024-02-29 23:59:59.995'", "'1969-12-31 23:59:59.994999'", "'1000-01-01 0:0:0.005'"),
    ),
    ("DATETIME(6)", "DATETIME", ("'2024-12-31 23:59:59.5'", "'1960-01-01 0:0:0.499999'")),
    (
        "TIMESTAMP(6) NULL",
        "TIMESTAMP(1) NULL",
        ("'2024-02-29 23:59:59.95'", "'1970-01-02 0:0:0.049999'"),
    ),
    ("TIME", "TIME(3)", ("'-838:59:59'", "'00:00:01'")),
    ("TIME(1)", "TIME(6)", ("'-01:02:03.5'", "'838:59:59.0'")),
    ("YEAR", "SMALLINT UNSIGNED", ("0", "1901", "2155")),
    ("YEAR", "INT", ("0", "2155")),
    ("BIT(1)", "BIT(10)", ("b'1'", "b'0'")),
    ("BIT(10)", "BIT(64)", ("b'1111111111'", "b'0'")),
    ("BIT(1)", "TINYINT", ("b'1'", "b'0'")),
    ("BIT(12)", "SMALLINT", ("b'111111111111'", "b'0'")),
    ("POINT", "GEOMETRY", ("POINT(1, 2)",)),
    ("VARCHAR(20)", "INT", ("'12'", "'-7'")),
    ("CHAR(30)", "BIGINT UNSIGNED", ("'9223372036854775807'",)),
    ("TEXT", "DECIMAL(6,2)", ("'9999.99'", "'-1.5'")),
    ("DECIMAL(10,3)", "VARCHAR(20)", ("-1.500", "0", "-0.001", "1234567.890")),
    ("DECIMAL(20,6)", "TEXT", ("0.000001", "-12345678901234")),
    ("TIME(2)", "CHAR(20)", ("'-12:00:00.5'", "'838:59:58'")),
    ("DATETIME(2)", "TIMESTAMP(3) NULL", ("'2024-02-29 23:59:59.25'", "'1970-01-02 0:0:0'")),
    ("TIMESTAMP(2) NULL", "DATETIME(6)", ("'2024-02-29 23:59:59.25'", "'1970-01-02 0:0:0'")),
    ("INT", "INT NOT NULL", tuple("1234567")),
    ("VARCHAR(20)", "ENUM('a', '1', 'b c', 'ü')", ("'a'", "'1'", "'b c  '", "'ü'")),
    ("TEXT", "ENUM('x', '')", ("'x'", "''")),
    ("DATE", "VARCHAR(10)", (*DAYS, *DAYS[:1])),
    ("DATE", "CHAR(20)", (*DAYS, *DAYS[:1])),
    ("DATETIME", "TEXT", (*(f"{day[:-1]} 23:59:58'" for day in DAYS), "'2024-01-01'")),
    (
        "DATETIME(2)",
        "VARCHAR(30)",
        (*(f"{day[:-1]} 01:02:03.05'" for day in DAYS), "'1969-12-31 23:59:59.99'"),
    ),
    ("VARCHAR(20)", "DATE", DAYS),
    ("TEXT", "DATETIME", ("'2024-02-29 23:59:59'", "'1000-01-01'", "'1969-12-31 00:00:01'")),
    (
        "VARCHAR(40)",
        "DATETIME(3)",
        ("'2024-02-29 23:59:59.5'", "'1960-01-01 00:00:00.001'", "'9999-12-31 23:59:59'"),
    ),
)
OF_MYSQL: tuple[tuple[str, str, tuple[str, ...]], ...] = (
    ("VARCHAR(20)", "INT", ("'12'", "' -1.5 '", "'1e2'", "'.5'", "'+7.'", "'2147483647.4'")),
    ("CHAR(30)", "BIGINT UNSIGNED", ("'9223372036854775807'", "'0.4999999999999999999'")),
    ("TEXT", "DECIMAL(6,2)", ("'1.005'", "' -1.005 '", "'1e-3'", "'9999.99'")),
)
"""MariaDB rejects such text values in strict mode, so there is nothing to convert."""
LOOSE = (
    ("DATE", "VARCHAR(20)", DAYS[:4]),
    ("DATETIME(1)", "TEXT", (*(f"{day[:-1]} 00:00:00.5'" for day in DAYS[:4]),)),
    ("VARCHAR(20)", "DATE", DAYS[:4]),
    ("VARCHAR(30)", "DATETIME(2)", ("'2024-02-29 23:59:59.25'", *DAYS[1:4])),
)
"""Certain even in non-strict sessions, which adjust values that do not fit."""
ROWS = max(len(values) for _, _, values in BOTH)


def converting(table: str, cases: Sequence[tuple[str, str, tuple[str, ...]]]) -> list[str]:
    """Return the statements that create a table with a column for each case, fill and convert
    it.
    """
    columns = ", ".join(f"c{n} {old}" for n, (old, _, _) in enumerate(cases))
    changes = ", ".join(f"MODIFY c{n} {new}" for n, (_, new, _) in enumerate(cases))
    rows = enumerate(zip_longest(*(values for _, _, values in cases), fillvalue="NULL"))
    return [
        f"CREATE TABLE {table} (id INT PRIMARY KEY, {columns})",
        *(f"INSERT INTO {table} VALUES ({row}, {', '.join(values)})" for row, values in rows),
        f"ALTER TABLE {table} {changes}",
    ]


@pytest.mark.parametrize("fixture", ["mysql", "mariadb"])
def test_gold_converts_as_the_server_does(
    spark: SparkSession, fixture: str, request: pytest.FixtureRequest, tmp_path: Path
) -> None:
    server: Server = request.getfixturevalue(fixture)
    server.execute(f"DROP DATABASE IF EXISTS {SCHEMA}")
    server.reset_logs()
    server.execute(f"CREATE DATABASE {SCHEMA} CHARACTER SET utf8mb4")
    cases = (*BOTH, *OF_MYSQL) if fixture == "mysql" else BOTH
    with server.connect(database=SCHEMA) as connection, connection.cursor() as cursor:
        cursor.execute("SET sql_mode = 'STRICT_TRANS_TABLES', time_zone = '+05:30'")
        for statement in converting("t", cases):
            cursor.execute(statement)
        cursor.execute("SET sql_mode = ''")
        for statement in converting("loose", LOOSE):
            cursor.execute(statement)
    settings = Settings.load(
        None, source="e2e", binlogs=str(server.binlog_folder), lake=str(tmp_path / "lake")
    )
    reports = run_layers(spark, settings, QuietProgress())
    assert [(report.faults, report.gaps) for report in reports] == [((), ())] * 3
    assert assert_gold_equals_source(spark, server, settings.lake, SCHEMA, "t") == ROWS
    assert assert_gold_equals_source(spark, server, settings.lake, SCHEMA, "loose") == 4
    (altered,) = [
        item
        for item in read_items(spark, Lake(settings.lake), "e2e")
        if item.kind == "alter" and item.table == "t"
    ]
    used = {(step.convert or "").partition(":")[0] for step in altered.columns or ()}
    expected = {*conversion_mode.VALUES_CHANGE, conversion_mode.CAST, conversion_mode.DIGITS, ""}
    other = conversion_mode.TRUNCATE if fixture == "mysql" else conversion_mode.FRACTION
    # Conversions that only MariaDB has are in test_mariadb_metadata.
    assert used == expected - {other, *conversion_mode.OF_MARIADB}
