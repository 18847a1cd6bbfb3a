"""Expressions of generated columns: which are certain, and how their values are stored."""

from __future__ import annotations

import json

import pytest

from pipeline.schema_history.alter.generated import depends_on_session, generated, recomputed
from pipeline.schema_history.ddl.actions import AddColumn
from pipeline.schema_history.ddl.conversion_mode import ConversionMode, UnknownValueError
from pipeline.schema_history.ddl.ddl import StatementContext, effects
from pipeline.schema_history.ddl.effects import AlterTable, CreateTable
from pipeline.schema_history.ddl.lexer import SqlMode

STRICT = ConversionMode(int(SqlMode.STRICT_TRANS_TABLES))
COLUMNS = (
    "i int, b bigint unsigned, t tinyint, d decimal(5,2), e decimal(30,4), v varchar(9), c char(3),"
    " l enum('x'), f double, bin varbinary(3), at datetime"
)
MEANING = (
    (SqlMode.HIGH_NOT_PRECEDENCE, False),
    (SqlMode.HIGH_NOT_PRECEDENCE, True),
    (SqlMode.ORACLE, True),
    (SqlMode.EMPTY_STRING_IS_NULL, True),
)
INT, DEC = ["column", "i", 10, 0], ["column", "d", 5, 2]


def added(declared: str, mode: ConversionMode = STRICT) -> tuple[str, str]:
    (created,) = effects(f"CREATE TABLE t ({COLUMNS})", StatementContext("s"))
    (altered,) = effects(f"ALTER TABLE t ADD g {declared}", StatementContext("s"))
    assert isinstance(created, CreateTable)
    assert isinstance(altered, AlterTable)
    (action,) = altered.actions
    assert isinstance(action, AddColumn)
    return generated(action.column, created.definition.columns, mode)


@pytest.mark.parametrize(
    ("declared", "tree", "stored"),
    [
        ("int AS (I) STORED", INT, "cast"),
        ("int AS (i + 1 * 2) STORED",
         ["+", INT, ["*", ["number", "1"], ["number", "2"], 2, 0], 11, 0],
         "cast"),
        ("int AS ((i - 1) * i) PERSISTENT",
         ["*", ["-", INT, ["number", "1"], 11, 0], INT, 20, 0], "cast"),
        ("int AS (d * i) STORED", ["*", DEC, INT, 15, 2], "round"),
        ("decimal(9,1) AS (`d` - 0.125) STORED", ["-", DEC, ["number", "0.125"], 7, 3], "rounded"),
        ("varchar(7) AS (CONCAT(v, ' ', i)) STORED",
         ["concat", ["column", "v", 0, 0], ["text", " "], INT], "shorten:7"),
        ("char(7) AS (l) STORED", ["column", "l", 0, 0], "rtrim"),
        # the server does not check a virtual column's values when it is added
        ("bigint AS (i + 1)", ["+", INT, ["number", "1"], 11, 0], "cast"),
        ("int AS (i + 1) VIRTUAL", ["+", INT, ["number", "1"], 11, 0], "clamp:32"),
        ("decimal(6,1) AS (d)", DEC, "rounded"),
    ],
)  # fmt: skip
def test_certain_expressions(declared: str, tree: list[object], stored: str) -> None:
    expression, how = added(declared)
    assert (json.loads(expression), how) == (tree, stored)


@pytest.mark.parametrize(
    ("declared", "reason"),
    [
        ("int AS (b DIV 2) STORED", "DIV"),
        ("int AS (IF(v = 'x', 1, 0)) STORED", "comparison of a text"),
        ("int AS (i <=> 1) STORED", "<=>"),
        (f"int AS (i < {10**40}) STORED", "digits"),
        ("varchar(9) AS (LEFT(v, 3000000000)) STORED", "not a constant"),
        ("int AS (i IN (1, 2)) STORED", "IN in its expression"),
        ("int AS (CASE WHEN i THEN v ELSE f END) STORED", "a text and column f of type DOUBLE"),
        ("varchar(9) AS (JSON_VALUE(v, '$.a')) STORED", "JSON_VALUE"),  # as MySQL prints it
        ("varchar(9) AS (LEFT(v, i)) STORED", "not a constant"),
        ("char(32) AS (MD5(v)) STORED", "an unknown charset"),
        ("int AS (i / 2) STORED", "/"),
        ("int AS (f) STORED", "DOUBLE"),
        ("int AS (v + 1) STORED", "arithmetic"),
        ("int AS (length(v)) STORED", "length"),
        ("int AS (i + nosuch) STORED", "nosuch"),
        ("int AS (1e3 + i) STORED", "1e3"),
        ("int AS ((i i)) STORED", "i in its expression"),
        ("year AS (at) STORED", "DATETIME2"),
        ("double AS (i) STORED", "DOUBLE"),
        ("varchar(30) AS (i) STORED", "VARCHAR"),
        ("varchar(30) AS (CONCAT(v, d)) STORED", "signed integer"),
        ("varchar(30) AS (CONCAT(b)) STORED", "signed integer"),  # it may be ZEROFILL
        ("varchar(30) AS (bin) STORED", "column bin"),
        ("decimal(38,8) AS (e * d * d) STORED", "digits"),
        ("decimal(50,2) AS (d) STORED", "NEWDECIMAL"),
        ("varchar(30) AS (v)", "VIRTUAL"),
        ("int unsigned AS (i)", "VIRTUAL"),
        ("decimal(4,1) AS (d)", "VIRTUAL"),
    ],
)
def test_other_expressions_are_not_certain(declared: str, reason: str) -> None:
    with pytest.raises(UnknownValueError, match=reason):
        added(declared)


def test_certainty_depends_on_the_session() -> None:
    with pytest.raises(UnknownValueError, match="not strict"):
        added("int AS (i) STORED", ConversionMode())
    for mode, mariadb in MEANING:
        with pytest.raises(UnknownValueError, match="sql_mode"):
            added("int AS (i) STORED", ConversionMode(int(mode), mariadb=mariadb))
    padded = ConversionMode(STRICT.sql_mode | SqlMode.PAD_CHAR_TO_FULL_LENGTH)
    with pytest.raises(UnknownValueError, match="padding"):
        added("varchar(9) AS (c) STORED", padded)


@pytest.mark.parametrize(
    ("declared", "how"),
    [
        ("int AS (i * 3)", "clamp:32"),
        ("int unsigned AS (i * 3)", "clamp_unsigned:32"),
        ("decimal(4,1) AS (d)", "nearest"),
        ("varchar(5) AS (v)", 'fitting:{"characters": 5, "ascii": false, "trimmed": false}'),
        ("char(5) charset latin1 AS (v)",
         'fitting:{"characters": 5, "ascii": true, "trimmed": true}'),
        ("int AS (JSON_VALUE(v, '$.a'))", "clamp:32"),
        ("date AS (DATE(at))", "cast"),
    ],
)  # fmt: skip
def test_values_stored_under_an_unknown_sql_mode(declared: str, how: str) -> None:
    session = StatementContext("s", mariadb=True)
    (created,) = effects(f"CREATE TABLE t ({COLUMNS}, g {declared})", session)
    assert isinstance(created, CreateTable)
    *others, target = created.columns
    kept = [column.definition for column in others]
    mode = ConversionMode(mariadb=True)
    assert recomputed(target.definition, target.expression, kept, mode)[1] == how


@pytest.mark.parametrize(
    ("expression", "depends"),
    [
        ("i + 1", False),
        ("REVERSE(v)", False),
        ("NOW()", True),
        ("CURRENT_DATE", True),
        ("@@server_id", True),
        ("HOUR(ts)", True),
        ("HOUR(at)", False),
    ],
)
def test_expressions_that_may_change_without_a_column_change(
    expression: str, *, depends: bool
) -> None:
    (created,) = effects(f"CREATE TABLE t ({COLUMNS}, ts timestamp)", StatementContext("s"))
    assert isinstance(created, CreateTable)
    columns = {column.name: column for column in created.definition.columns}
    assert depends_on_session(StatementContext().tokens(expression), columns) is depends
