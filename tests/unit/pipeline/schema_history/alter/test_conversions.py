"""Conversions of a column's values: which are certain, and what they do."""

from __future__ import annotations

from dataclasses import replace

import pytest

from decoder import TypeOptions
from pipeline.schema_history.alter.conversions import conversion
from pipeline.schema_history.ddl.conversion_mode import ConversionMode, UnknownValueError
from pipeline.schema_history.ddl.ddl import StatementContext, effects
from pipeline.schema_history.ddl.effects import CreateTable
from pipeline.schema_history.ddl.lexer import SqlMode
from pipeline.schema_history.timeline.logged_statement import LoggedStatement, TimelineOptions

STRICT = ConversionMode(int(SqlMode.STRICT_TRANS_TABLES))
HELD = "held"


def how(old: str, new: str, mode: ConversionMode) -> str | None:
    (effect,) = effects(f"CREATE TABLE t (a {old}, b {new})", StatementContext("s"))
    assert isinstance(effect, CreateTable)
    before, after = effect.definition.columns
    try:
        named = "utf8mb4" if "charset utf8mb4" in new else None
        return conversion(before, after, replace(mode, charset=named))
    except UnknownValueError:
        return HELD


@pytest.mark.parametrize(
    ("old", "new", "strict", "loose"),
    [
        ("int", "bigint", "cast", "cast"),
        ("int", "mediumint", None, HELD),
        ("int", "int unsigned", "cast", HELD),
        ("smallint unsigned", "mediumint", None, None),
        ("bigint unsigned", "bigint", "cast", HELD),
        ("int", "decimal(12,2)", "cast", "cast"),
        ("int", "decimal(5,2)", "cast", HELD),
        ("int", "double", "cast", "cast"),
        ("int", "float", "rounded", "rounded"),
        ("bigint", "double", "rounded", "rounded"),
        ("decimal(5,2)", "double", "rounded", "rounded"),
        ("bigint", "float", HELD, HELD),
        ("int", "varchar(30)", "cast", "cast"),
        ("int", "varchar(9)", "cast", HELD),
        ("int unsigned", "varchar(30)", HELD, HELD),
        ("decimal(5,2)", "decimal(7,2)", "cast", "cast"),
        ("decimal(5,2)", "decimal(5,2)", None, None),
        ("decimal(5,2)", "decimal(4,1)", "rounded", "rounded"),
        ("decimal(5,2)", "decimal(4,2)", "cast", HELD),
        ("decimal(50,2)", "decimal(52,2)", HELD, HELD),
        ("decimal(5,2)", "int", "round", HELD),
        ("decimal(5,2)", "float", HELD, HELD),
        ("double", "int", "rint", HELD),
        ("float", "double", "cast", "cast"),
        ("double", "float", "rounded", HELD),
        ("double", "varchar(30)", HELD, HELD),
        ("varchar(10)", "varchar(20)", None, HELD),
        ("varchar(10)", "varchar(20) charset utf8mb4", None, None),
        ("varchar(20)", "varchar(10)", "shorten:10", HELD),
        ("varchar(20)", "char(20)", "rtrim", HELD),
        ("char(20)", "varchar(10)", None, HELD),
        ("varchar(20)", "text", None, HELD),
        ("text", "varchar(10)", "shorten:10", HELD),
        ("text", "tinytext", HELD, HELD),
        ("tinytext", "longtext charset utf8mb4", None, None),
        ("text", "text", HELD, HELD),
        ("text charset latin1", "text charset latin1", None, HELD),
        ("text charset latin1", "text charset utf8mb4", HELD, HELD),
        ("text charset utf8mb4", "text charset utf8mb4", None, None),
        ("text charset utf8mb4", "tinytext charset utf8mb4", HELD, HELD),
        ("longtext", "longtext", None, HELD),
        ("longtext", "longtext charset utf8mb4", None, None),
        ("varchar(20)", "varbinary(80)", HELD, HELD),
        ("varchar(20)", "json", HELD, HELD),
        ("varchar(20)", "int", "number", HELD),
        ("text", "decimal(38,5)", "rounded", HELD),
        ("text", "decimal(39,5)", HELD, HELD),
        ("text", "double", HELD, HELD),
        ("decimal(9,2)", "varchar(12)", "cast", "cast"),
        ("decimal(9,2)", "varchar(11)", "cast", HELD),
        ("decimal(9,7)", "text", HELD, HELD),
        ("decimal(9,2) unsigned", "text", HELD, HELD),
        ("time(2)", "varchar(13)", None, None),
        ("time(2)", "varchar(12)", None, HELD),
        ("uuid", "uuid", None, None),
        ("uuid", "binary(16)", "stored:16", "stored:16"),
        ("uuid", "binary(20)", "stored:20", "stored:20"),
        ("uuid", "varbinary(16)", "stored:0", "stored:0"),
        ("uuid", "varbinary(15)", "stored:0", HELD),
        ("uuid", "blob", "stored:0", "stored:0"),
        ("uuid", "char(36)", None, None),
        ("uuid", "varchar(35)", None, HELD),
        ("uuid", "inet6", HELD, HELD),
        ("uuid", "int", HELD, HELD),
        ("varchar(40)", "uuid", "logical:UUID", HELD),
        ("binary(16)", "uuid", "logical:UUID", HELD),
        ("blob", "inet6", "logical:INET6", HELD),
        ("binary(4)", "inet6", HELD, HELD),  # it may have been an INET4
        ("inet4", "inet6", "mapped", "mapped"),
        ("inet6", "inet4", HELD, HELD),
        ("inet6", "varchar(39)", None, None),
        ("varbinary(12)", "vector(3)", "logical:VECTOR", HELD),
        ("varbinary(3)", "varbinary(4)", None, None),
        ("varbinary(4)", "varbinary(3)", None, HELD),
        ("varbinary(3)", "binary(4)", "pad:4", "pad:4"),
        ("binary(4)", "varbinary(4)", None, None),
        ("binary(4)", "binary(4)", None, None),
        ("blob", "longblob", None, None),
        ("enum('a','b')", "enum('x','b','a')", None, None),
        ("enum('a','b')", "enum('a')", None, HELD),
        ("enum('a','b')", "enum('A','b')", HELD, HELD),
        ("enum('a','b')", "varchar(5)", None, HELD),
        ("set('a','b')", "set('a','x','b')", None, None),
        ("set('a','b')", "set('b','a')", HELD, HELD),
        ("varchar(5)", "enum('a','ü')", 'label:["a", "ü"]', HELD),
        ("varchar(5)", "set('a')", HELD, HELD),
        ("date", "varchar(10)", "printed:10", "printed:10"),
        ("date", "varchar(9)", "printed:10", HELD),
        ("datetime", "char(20)", "printed:19", "printed:19"),
        ("datetime(2)", "text", "printed:22", "printed:22"),
        ("timestamp", "varchar(30)", HELD, HELD),
        ("varchar(5)", "date", "parsed:10", "parsed:10"),
        ("text", "datetime(6)", "parsed:26", "parsed:26"),
        ("text", "timestamp", HELD, HELD),
        ("date", "datetime", "cast", "cast"),
        ("datetime", "date", "rounded", "rounded"),
        ("datetime(3)", "date", HELD, HELD),
        ("datetime", "datetime(6)", None, None),
        ("datetime(6)", "datetime(3)", "fraction:3", HELD),
        ("timestamp(6)", "timestamp", "fraction:0", HELD),
        ("timestamp", "datetime", HELD, HELD),
        ("time", "time(3)", "digits:3", "digits:3"),
        ("time(3)", "time", HELD, HELD),
        ("year", "smallint", None, None),
        ("year", "int", "cast", "cast"),
        ("bit(3)", "bit(9)", None, None),
        ("bit(1)", "bit(9)", "cast", "cast"),
        ("bit(9)", "bit(1)", HELD, HELD),
        ("bit(9)", "int", "cast", "cast"),
        ("json", "json", None, None),
        ("json", "text", HELD, HELD),
        ("point", "geometry", None, None),
        ("geometry", "point", HELD, HELD),
        ("vector(3)", "vector(4)", None, None),
        ("vector(4)", "vector(3)", HELD, HELD),
        ("int", "int NOT NULL", None, HELD),
    ],
)
def test_values_are_converted(old: str, new: str, strict: str | None, loose: str | None) -> None:
    assert how(old, new, STRICT) == strict
    assert how(old, new, ConversionMode()) == loose


@pytest.mark.parametrize(
    ("sql_mode", "mariadb", "expected"),
    [
        (0, False, "fraction:0"),
        (1 << 32, False, "truncate:0"),
        (0, True, "truncate:0"),
        (1 << 32, True, "truncate:0"),
        (1 << 34, True, "fraction:0"),
    ],
)
def test_fractional_digits_are_rounded_or_truncated_by_sql_mode(
    sql_mode: int, mariadb: bool, expected: str
) -> None:
    mode = ConversionMode(int(SqlMode.STRICT_TRANS_TABLES) | sql_mode, mariadb=mariadb)
    assert how("datetime(6)", "datetime", mode) == expected


@pytest.mark.parametrize(
    ("old", "new"), [("date", "datetime"), ("datetime", "date"), ("datetime", "datetime(3)")]
)
def test_dates_stored_as_text_are_not_converted(old: str, new: str) -> None:
    mode = ConversionMode(STRICT.sql_mode, TypeOptions(zero_dates="string"))
    assert how(old, new, mode) == HELD


@pytest.mark.parametrize(
    ("old", "new", "offset", "expected"),
    [
        ("datetime", "timestamp(3)", 330, "instant:330"),
        ("timestamp(3)", "datetime(3)", -120, "local:-120"),
        ("timestamp(3)", "datetime(2)", 0, HELD),
        ("datetime", "timestamp", None, HELD),
    ],
)
def test_times_are_converted_to_a_logged_time_zone(
    old: str, new: str, offset: int | None, expected: str
) -> None:
    mode = replace(STRICT, utc_offset=offset)
    assert how(old, new, mode) == expected
    assert how(old, new, replace(mode, sql_mode=0)) == HELD


@pytest.mark.parametrize(
    ("logged", "offset"),
    [("+05:30", 330), ("-01:00", -60), ("UTC", 0), ("SYSTEM", 120), ("Europe/Paris", None),
     ("nosuch", None), (None, None), ("", None)],
)  # fmt: skip
def test_times_are_only_converted_with_a_constant_utc_offset(
    logged: str | None, offset: int | None
) -> None:
    statement = LoggedStatement(1, 2, "ALTER TABLE t …", time_zone=logged)
    options = TimelineOptions(system_time_zone="+02:00")
    assert options.conversion_mode(statement, ignore=False).utc_offset == offset


def test_alter_ignore_is_never_strict() -> None:
    mode = ConversionMode(STRICT.sql_mode, ignore=True)
    assert how("int", "smallint", mode) == HELD


def test_a_char_read_with_its_padding_is_not_converted() -> None:
    mode = ConversionMode(STRICT.sql_mode | SqlMode.PAD_CHAR_TO_FULL_LENGTH)
    assert how("char(5)", "varchar(5)", mode) == HELD
