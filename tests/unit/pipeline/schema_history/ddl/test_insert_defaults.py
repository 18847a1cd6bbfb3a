"""The DEFAULTs in force: of a new table, and after changes of it."""

from __future__ import annotations

from datetime import datetime, timezone
from typing import Any

import pytest

from pipeline.schema_history import Timeline
from pipeline.schema_history.alter.items import TimelineItem
from pipeline.schema_history.ddl.expression_reader import printed_expression
from pipeline.schema_history.ddl.model import ColumnDefault, TableModel
from pipeline.schema_history.timeline.timeline import LoggedStatement, TimelineOptions

AT = datetime(2026, 1, 2, 3, 4, 5, tzinfo=timezone.utc)
UNKNOWN = object()
"""Stands for an unknown DEFAULT."""


def items(*statements: str, **options: Any) -> list[TimelineItem]:
    """Return the items of a log of these statements."""
    fields = {"ddl_xid": 1, "executed_at": AT, "explicit_timestamps": True, **options}
    timeline = Timeline((), TimelineOptions())
    for n, statement in enumerate(statements, 1):
        version = None if options.get("mariadb") else 90700
        timeline.statement(
            LoggedStatement(n, n, statement, "s", **{"server_version": version, **fields})
        )
    return timeline.new


def model(*statements: str, **options: Any) -> TableModel:
    return [i.model for i in items(*statements, **options) if i.model is not None][-1]


def defaults(*statements: str, **options: Any) -> dict[str, Any]:
    """Return the DEFAULT in force at the end, by column."""
    defaults = model(*statements, **options).defaults
    return {d.name: UNKNOWN if d.reason else d.text for d in defaults}


@pytest.mark.parametrize(
    ("column", "expected"),
    [
        ("int", None),
        ("int NOT NULL", "0"),
        ("int DEFAULT 7", "7"),
        ("int DEFAULT NULL", None),
        ("varchar(9) NOT NULL DEFAULT 'é'", "é"),
        ("varchar(9) NOT NULL", ""),
        ("enum('x', 'y') NOT NULL", "x"),
        ("enum('x', 'y')", None),
        ("json NOT NULL", "null"),
        ("binary(4) NOT NULL", "00000000"),
        ("decimal(5, 2) NOT NULL DEFAULT 1.5", "1.50"),
        ("date NOT NULL", None),  # 0000-00-00, which gold has as NULL
        ("timestamp NULL DEFAULT '2020-02-29 12:00:00'", "2020-02-29 11:00:00+00:00"),
        ("timestamp DEFAULT CURRENT_TIMESTAMP", UNKNOWN),
        ("datetime(3) DEFAULT NOW(3) ON UPDATE NOW(3)", UNKNOWN),
        ("int DEFAULT (60 * 60)", "3600"),
        ("varchar(40) DEFAULT (uuid())", UNKNOWN),
        ("int AS (id + 1) STORED", UNKNOWN),
        ("int AUTO_INCREMENT UNIQUE", UNKNOWN),
    ],
)
def test_a_declared_column(column: str, expected: Any) -> None:
    create = f"CREATE TABLE t (id int PRIMARY KEY, c {column})"
    assert defaults(create, time_zone="+01:00") == {"id": "0", "c": expected}


CREATE = "CREATE TABLE t (id int, a int DEFAULT 1, b int NOT NULL DEFAULT 2, PRIMARY KEY (id))"


@pytest.mark.parametrize(
    ("alter", "expected"),
    [
        ("ALTER a SET DEFAULT 5", "id=0 a=5 b=2"),
        ("ALTER COLUMN A SET DEFAULT (5 + 1), ALTER b DROP DEFAULT", "id=0 a=6 b=0"),
        ("ALTER a DROP DEFAULT", "id=0 a=None b=2"),
        ("ALTER id SET DEFAULT 9", "id=9 a=1 b=2"),
        ("ALTER INDEX a VISIBLE", "id=0 a=1 b=2"),
        ("ADD c int DEFAULT 3 FIRST", "id=0 a=1 b=2 c=3"),
        ("MODIFY a int", "id=0 a=None b=2"),
        ("CHANGE a x int", "id=0 x=None b=2"),
        ("MODIFY id bigint", "id=0 a=1 b=2"),
        ("RENAME COLUMN a TO b, RENAME COLUMN b TO a", "id=0 b=1 a=2"),
        ("RENAME COLUMN a TO x, ALTER a SET DEFAULT 4", "id=0 x=4 b=2"),
        ("DROP a", "id=0 b=2"),
        ("DROP a, ADD a varchar(3) DEFAULT 'new'", "id=0 b=2 a=new"),
        ("COMMENT = 'nothing'", "id=0 a=1 b=2"),
        ("RENAME u", "id=0 a=1 b=2"),
    ],
)
def test_an_alter_changes_defaults(alter: str, expected: str) -> None:
    found = defaults(CREATE, f"ALTER TABLE t {alter}")
    assert " ".join(f"{name}={text}" for name, text in found.items()) == expected


def test_changing_only_a_default_creates_an_item() -> None:
    kinds = [i.kind for i in items(CREATE, "ALTER TABLE t ALTER a SET DEFAULT 5")]
    assert kinds == ["create", "model"]
    assert [i.kind for i in items(CREATE, "ALTER TABLE t ALTER a SET DEFAULT 1")] == ["create"]
    assert defaults(CREATE, "ALTER TABLE t ALTER a SET DEFAULT 5", "CREATE TABLE u LIKE t") == {
        "id": "0",
        "a": "5",
        "b": "2",
    }


def test_a_default_of_a_missing_column_holds_the_table() -> None:
    (_, item) = items(CREATE, "ALTER TABLE t ALTER x SET DEFAULT 5")
    assert (item.kind, item.reason) == ("unsupported", "the table has no column x")


@pytest.mark.parametrize("mariadb", [True, False])
def test_only_mariadb_leaves_computed_columns_out_of_the_log(*, mariadb: bool) -> None:
    create = "CREATE TABLE t (id int PRIMARY KEY, a int AS (id + 1) VIRTUAL)"
    defaults = model(create, mariadb=mariadb).defaults
    assert {d.name: d.unlogged for d in defaults} == {"id": False, "a": mariadb}


def test_expressions_of_mariadb_s_generated_columns_are_kept() -> None:
    create = "CREATE TABLE t (id int PRIMARY KEY, a int, g int AS (a + 1) PERSISTENT)"
    alter = "ALTER TABLE t RENAME COLUMN a TO b"
    made = model(create, alter, mariadb=True)
    kept = {d.name: printed_expression(d.expression) for d in made.defaults}
    assert kept == {"id": "", "b": "", "g": "b + 1"}
    assert TableModel.from_json(made.to_json()) == made


def test_a_model_is_read_back() -> None:
    made = model(CREATE)
    assert TableModel.from_json(made.to_json()) == made
    assert TableModel().with_defaults([ColumnDefault("a")]).defaults == (ColumnDefault("a"),)


@pytest.mark.parametrize(
    ("kind", "default", "expected"),
    [
        ("INET4", "'1.2.3.4'", "1.2.3.4"),
        ("UUID", "'123E4567e89b-12d3-a456-426655440000'", "123e4567-e89b-12d3-a456-426655440000"),
        ("INET6", "'2001:0db8::ff00:42:8329'", "2001:db8::ff00:42:8329"),
        ("INET6", "'::1'", "::1"),
        ("UUID", "'no'", UNKNOWN),
        # A BINARY of a table map may have such a type without DDL that shows it.
        ("BINARY(16)", "'2001:db8::ff00:42:8329'", "20010db8000000000000ff0000428329"),
        ("BINARY(16)", "'::1'", UNKNOWN),
        ("BINARY(16)", "'abc'", "616263" + "00" * 13),
        ("BINARY(4)", "'abcd'", "61626364"),
        ("INET4", "NULL", None),
    ],
)
def test_a_default_set_later_does_not_show_its_column_s_type(
    kind: str, default: str, expected: Any
) -> None:
    alter = f"ALTER TABLE t ALTER COLUMN a SET DEFAULT {default}"
    assert defaults(f"CREATE TABLE t (a {kind})", alter, mariadb=True) == {"a": expected}
