from __future__ import annotations

from datetime import date, datetime, timezone
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pytest

from decoder import TypeOptions
from decoder.columns.registry import reader
from pipeline.schema_history.ddl.actions import AddColumn, NewColumn
from pipeline.schema_history.ddl.conversion_mode import ConversionMode, UnknownValueError
from pipeline.schema_history.ddl.ddl import StatementContext, effects
from pipeline.schema_history.ddl.defaults import default_text, python_value
from pipeline.schema_history.ddl.effects import AlterTable

AT = datetime(2026, 11, 21, 23, 7, 43, 367891, timezone.utc)
PARIS = ConversionMode(executed_at=AT, time_zone="Europe/Paris")


UUID = "123e4567-e89b-12d3-a456-426655440000"


def text(declared: str, mode: ConversionMode = PARIS) -> str | None:
    return default_text(added(declared), mode)


def added(declared: str) -> NewColumn:
    """Return the column that a declaration adds."""
    (effect,) = effects(f"ALTER TABLE t ADD a {declared}", StatementContext("s"))
    assert isinstance(effect, AlterTable), effect
    action = effect.actions[0]
    assert isinstance(action, AddColumn), action
    return action.column


# The expected values are those that MySQL 9.7 showed in existing rows, in our spelling.
@pytest.mark.parametrize(
    ("declared", "expected"),
    [
        ("int", None),
        ("int NULL DEFAULT NULL", None),
        ("int NOT NULL", "0"),
        ("int DEFAULT 5", "5"),
        ("int DEFAULT '-7'", "-7"),
        ("int DEFAULT -7", "-7"),
        ("int DEFAULT +7", "7"),
        ("int DEFAULT 2.5", "3"),
        ("int DEFAULT b'101'", "5"),
        ("int DEFAULT 0x0A", "10"),
        ("int DEFAULT (60*60 - 1)", "3599"),
        ("int DEFAULT (-(3))", "-3"),
        ("bigint unsigned DEFAULT 18446744073709551615", "18446744073709551615"),
        ("bool DEFAULT true", "1"),
        ("decimal(8,3) DEFAULT 1.23456", "1.235"),
        ("decimal(8,3) DEFAULT -0.0004", "0.000"),
        ("decimal(8,3) DEFAULT '-1e2'", "-100.000"),
        ("decimal(65,30) NOT NULL DEFAULT 12345678901234567890123456789012345.5",
         "12345678901234567890123456789012345.5" + "0" * 29),
        ("decimal(4) DEFAULT 12.5", "13"),
        ("float DEFAULT 1.1", "1.100000023841858"),
        ("double DEFAULT 1e-3", "0.001"),
        ("bit(9) DEFAULT b'101'", "5"),
        ("bit(1) DEFAULT b'1'", "true"),
        ("bit NOT NULL", "false"),
        ("year DEFAULT 24", "2024"),
        ("year DEFAULT 0", "0"),
        ("year DEFAULT '0'", "2000"),
        ("varchar(10) DEFAULT 12.50", "12.50"),
        ("varchar(10) DEFAULT 'it''s \\n é'", "it's \n é"),
        ("varchar(10) DEFAULT _utf8mb4'x '", "x "),
        ("varchar(10) CHARACTER SET utf8mb4 DEFAULT x'c3a9'", "é"),
        ("varchar(10) DEFAULT x'c3a9' COLLATE utf8mb3_bin AFTER charset", "é"),
        ("char(3) CHARSET ascii DEFAULT 0x6120", "a"),
        ("varchar(10) DEFAULT 0.0000001", "0.0000001"),
        ("varchar(10) CHARACTER SET latin1 DEFAULT 0xE9", "é"),
        ("varchar(10) COLLATE latin1_bin DEFAULT 0x41", "A"),
        ("varchar(10) DEFAULT 'a' 'b' \"c\"", "abc"),
        ("varchar(10) DEFAULT _latin1'é'", "Ã©"),
        ("varchar(3) DEFAULT 'abc  '", "abc"),
        ("int DEFAULT 2.5e0", "2"),
        (f"decimal(65,30) DEFAULT -{'9' * 35}.{'9' * 30}", f"-{'9' * 35}.{'9' * 30}"),
        ("decimal(65,30) DEFAULT (1234567890123456789012345678.1234567891 * 1)",
         "1234567890123456789012345678.1234567891" + "0" * 20),
        ("datetime DEFAULT '2024-01-01 00:00:00+02:00'", "2023-12-31 23:00:00"),
        ("datetime(3) DEFAULT (now())", "2026-11-22 00:07:43.000"),
        ("datetime DEFAULT (curdate())", "2026-11-22 00:00:00"),
        ("date DEFAULT '2024-12-31 23:59:59.5'", "2025-01-01"),
        ("date DEFAULT DATE '2024-01-02'", "2024-01-02"),
        ("float(5,2) DEFAULT 1.239", "1.2400000095367432"),
        ("float(5,2) DEFAULT 1.1", "1.100000023841858"),
        ("double(6,2) DEFAULT 1.239", "1.24"),
        ("double(6,2) DEFAULT -1.239", "-1.24"),
        ("float(30) DEFAULT 1.239", "1.239"),
        ("varchar(10) DEFAULT _latin1 x'e9'", "é"),
        ("char(5) NOT NULL DEFAULT 'x '", "x"),
        ("text DEFAULT ('hi')", "hi"),
        ("text NOT NULL", ""),
        ("varbinary(4) DEFAULT x'00ff'", "00ff"),
        ("binary(3) DEFAULT 'a'", "610000"),
        ("binary(3) NOT NULL", "000000"),
        ("blob NOT NULL", ""),
        ("uuid DEFAULT '123E4567-e89b-12d3-a456-426655440000'", UUID),
        ("uuid DEFAULT ('123e4567e89b12d3a456426655440000')", UUID),
        ("uuid DEFAULT 0x123e4567e89b12d3a456426655440000", UUID),
        ("uuid NOT NULL", "00000000-0000-0000-0000-000000000000"),
        ("uuid", None),
        ("inet6 NOT NULL DEFAULT '::ffff:1.2.3.4'", "::ffff:1.2.3.4"),
        ("inet6 DEFAULT '1.2.3.4'", "::ffff:1.2.3.4"),
        ("inet6 DEFAULT 0x00000000000000000000000000000002", "::2"),
        ("inet6 NOT NULL", "::"),
        ("inet4 DEFAULT '1.2.3.4'", "1.2.3.4"),
        ("inet4 NOT NULL", "0.0.0.0"),
        ("enum('b','a') NOT NULL", "b"),
        ("enum('b','a') DEFAULT 'A'", "a"),
        ("set('x','y') NOT NULL DEFAULT 'y,x'", "x,y"),
        ("set('x','y') NOT NULL", ""),
        ("json NOT NULL", "null"),
        ("json DEFAULT (json_object('a', 1))", '{"a": 1}'),
        ("json DEFAULT (JSON_ARRAY())", "[]"),
        ("json DEFAULT (json_object('k', json_array(1, 'x', NULL, true, 1.50)))",
         '{"k": [1, "x", null, true, 1.50]}'),
        ("json DEFAULT (cast('[1]' as json))", "[1]"),
        ("date NOT NULL DEFAULT '2024-1-2'", "2024-01-02"),
        ("date DEFAULT 20240102", "2024-01-02"),
        ("date NOT NULL DEFAULT '0000-00-00'", None),
        ("date DEFAULT (curdate())", "2026-11-22"),
        ("datetime DEFAULT 20240102030405", "2024-01-02 03:04:05"),
        ("datetime(1) DEFAULT '2024-12-31 23:59:59.96'", "2025-01-01 00:00:00.0"),
        ("datetime DEFAULT now()", "2026-11-22 00:07:43"),
        ("datetime(3) DEFAULT CURRENT_TIMESTAMP(3)", "2026-11-22 00:07:43.367"),
        ("timestamp(3) DEFAULT current_timestamp(3)", "2026-11-21 23:07:43.367+00:00"),
        ("timestamp NULL DEFAULT '2024-07-01 10:00:00'", "2024-07-01 08:00:00+00:00"),
        ("timestamp NOT NULL DEFAULT 0", None),
        ("time(2) DEFAULT '1:2:3.456'", "01:02:03.46"),
        ("time DEFAULT 123", "00:01:23"),
        ("time DEFAULT '-100:00:00'", "-100:00:00"),
        ("time DEFAULT '2 3'", "51:00:00"),
        ("time(1) NOT NULL", "00:00:00.0"),
    ],
)  # fmt: skip
def test_existing_rows_have_the_server_s_default(declared: str, expected: str | None) -> None:
    assert text(declared) == expected


@pytest.mark.parametrize(
    "declared",
    [
        "int DEFAULT (b + 1)",
        "varchar(36) DEFAULT (uuid())",
        "int AS (b) STORED",
        "bigint AUTO_INCREMENT UNIQUE",
        "point NOT NULL",
        "vector(2) NOT NULL",
        "double DEFAULT (1/3)",
        "varchar(10) DEFAULT 0xC3A9",
        "varchar(10) CHARACTER SET utf8mb4 DEFAULT 0xE9",
        "enum('a','b') DEFAULT 0x61",
        "varchar(20) DEFAULT 1234567e0",
        "float(5,2) DEFAULT 1000",
        "uuid DEFAULT (uuid())",
        "uuid DEFAULT '{123e4567-e89b-12d3-a456-426655440000}'",
        "json DEFAULT (JSON_OBJECT(1, 2))",
        "json DEFAULT (JSON_OBJECT('a', 1, 'a', 2))",
        "uuid DEFAULT 0x12",
        "uuid DEFAULT 1",
        "inet4 DEFAULT (concat('1.2.3', '.4'))",
    ],
)
def test_defaults_that_the_log_cannot_determine_are_unknown(declared: str) -> None:
    with pytest.raises(UnknownValueError):
        text(declared)


@pytest.mark.parametrize("explicit", [True, False, None])
@pytest.mark.parametrize(
    ("declared", "is_null"),
    [
        ("timestamp", False),
        ("timestamp NOT NULL", False),
        ("timestamp(3) ON UPDATE now(3)", False),
        ("timestamp NULL", True),
        ("timestamp NOT NULL DEFAULT 0", True),
    ],
)
def test_a_timestamp_may_have_an_implicit_default(
    declared: str, is_null: bool, explicit: bool | None
) -> None:
    mode = ConversionMode(executed_at=AT, explicit_timestamps=explicit)
    if is_null or explicit:
        assert text(declared, mode) is None
        return
    with pytest.raises(UnknownValueError, match="for_timestamp is"):
        text(declared, mode)


def test_now_is_unknown_without_a_logged_statement_time() -> None:
    with pytest.raises(UnknownValueError):
        text("datetime DEFAULT now()", ConversionMode())


@pytest.mark.parametrize(
    ("declared", "expected"),
    [
        ("time(2) DEFAULT '-0:0:1.5'", "-1500000"),
        ("date NOT NULL DEFAULT '2024-00-00'", "2024-00-00"),
        ("datetime(2) NOT NULL", "0000-00-00 00:00:00.00"),
        ("timestamp DEFAULT '2024-01-01 00:00:00'", "2023-12-31 23:00:00"),
    ],
)
def test_values_follow_the_type_options(declared: str, expected: str) -> None:
    options = TypeOptions(time="micros", zero_dates="string")
    mode = ConversionMode(options=options, executed_at=AT, time_zone="+01:00")
    assert text(declared, mode) == expected


@pytest.mark.parametrize(
    ("declared", "expected"),
    [
        ("int DEFAULT 5", 5),
        ("bit DEFAULT b'1'", True),
        ("double DEFAULT 0.1", 0.1),
        ("decimal(5,2) DEFAULT 1.5", Decimal("1.50")),
        ("varbinary(3) DEFAULT x'00ff'", b"\x00\xff"),
        ("date DEFAULT '2024-01-02'", date(2024, 1, 2)),
        ("datetime DEFAULT '2024-01-02'", datetime(2024, 1, 2)),
        ("timestamp DEFAULT '2024-01-02'", datetime(2024, 1, 1, 23, tzinfo=timezone.utc)),
        ("varchar(3) DEFAULT 'x'", "x"),
        ("int", None),
    ],
)
def test_text_reads_back_as_a_value_of_the_column(declared: str, expected: Any) -> None:
    arrow_type = reader(added(declared).definition, TypeOptions()).arrow_type
    value = python_value(text(declared), arrow_type)
    assert value == expected
    assert pa.scalar(value, arrow_type).as_py() == expected
