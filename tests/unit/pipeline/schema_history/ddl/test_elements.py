"""Distinguish columns from other table elements, and apply periods to columns."""

from __future__ import annotations

import pytest

from pipeline.schema_history.ddl.ddl import StatementContext
from pipeline.schema_history.ddl.effects import CreateTable
from pipeline.schema_history.ddl.elements import is_column, read_period
from pipeline.schema_history.ddl.lexer import Token
from tests.unit.pipeline.schema_history.alter.test_altered_columns import (
    STRICT,
    NotAppliedError,
    after,
)
from tests.unit.pipeline.schema_history.ddl.test_ddl import only


def tokens(element: str) -> list[Token]:
    return StatementContext("s").tokens(element)


@pytest.mark.parametrize(
    "element",
    [
        "a INT",
        "`key` INT",
        "period DATE",
        "period VARCHAR(3) DEFAULT 'FOR'",
        "system INT",
        "`vector` VECTOR(3)",
        # in MySQL a name like any other
        "vector INT",
        "vector VECTOR(3) NOT NULL",
        "vector VARCHAR(3)",
        "vector ENUM('a', 'b')",
        "vector",
    ],
)
def test_columns_are_recognized_by_any_name(element: str) -> None:
    assert is_column(tokens(element))


@pytest.mark.parametrize(
    "element",
    [
        *("INDEX (a)", "KEY k (a) IGNORED", "UNIQUE (a)", "PRIMARY KEY (a)", "FULLTEXT f (a)"),
        *("SPATIAL INDEX (g)", "CHECK (a > 0)", "CONSTRAINT CHECK (a > 0)", "FOREIGN KEY (a)"),
        *("CONSTRAINT IF NOT EXISTS c CHECK (a > 0)", "SYSTEM VERSIONING"),
        *("VECTOR INDEX (v)", "VECTOR KEY vk (v) M=8 DISTANCE=cosine", "VECTOR (`v`)"),
        *("VECTOR vi (v)", "VECTOR INDEX IF NOT EXISTS vi (v)"),
        *("PERIOD FOR p (s, e)", "PERIOD IF NOT EXISTS FOR p (s, e)", "PERIOD IF EXISTS FOR p"),
        "PERIOD FOR SYSTEM_TIME (s, e)",
    ],
)
def test_other_elements_are_not_columns(element: str) -> None:
    assert not is_column(tokens(element))


def test_only_the_period_of_versioning_is_a_system_period() -> None:
    own, system = (
        read_period(tokens("PERIOD FOR p (s, e)")),
        read_period(tokens("PERIOD FOR system_time (s, e)")),
    )
    assert own is not None
    assert system is not None
    assert (own.name, own.start, own.end, own.is_system) == ("p", "s", "e", False)
    assert system.is_system
    assert read_period(tokens("a INT")) is None


def test_a_key_without_overlaps_has_the_columns_of_its_period() -> None:
    created = only(
        "CREATE TABLE t (id INT, s DATE, e DATE, PERIOD FOR p (s, e), v INT,"
        " PRIMARY KEY (id, p WITHOUT OVERLAPS), UNIQUE u (v, P WITHOUT OVERLAPS))"
    )
    assert isinstance(created, CreateTable)
    assert created.definition.key == ("id", "e", "s")
    assert [c.nullable for c in created.definition.columns] == [False, False, False, True]
    assert created.model is not None
    assert [key.columns for key in created.model.keys or ()] == [("id", "e", "s"), ("v", "e", "s")]


@pytest.mark.parametrize(
    ("actions", "not_null"),
    [
        ("ADD PERIOD FOR p (b, c)", ["a", "b", "C"]),
        ("ADD PERIOD IF NOT EXISTS FOR p (b, C)", ["a", "b", "C"]),
        ("ADD (PERIOD FOR p (b, c), CHECK (a > 0))", ["a", "b", "C"]),
        ("DROP PERIOD FOR p, ADD UNIQUE (b)", ["a"]),
        ("DROP PERIOD IF EXISTS FOR p, RENAME INDEX IF EXISTS i TO j", ["a"]),
        ("ADD VECTOR INDEX IF NOT EXISTS vi (b) M=8, ADD VECTOR (c), ADD UNIQUE (b)", ["a"]),
    ],
)
def test_periods_and_indexes_change_no_columns(actions: str, not_null: list[str]) -> None:
    change = after(actions)
    assert [column.name for column in change.definition.columns] == ["a", "b", "C"]
    assert [c.name for c in change.definition.columns if not c.nullable] == not_null
    assert all(step.old == step.name and step.convert is None for step in change.steps)


def test_a_primary_key_is_dropped_as_a_constraint_too() -> None:
    change = after("DROP CONSTRAINT PRIMARY KEY")
    assert change.keys
    assert change.model is not None
    assert change.model.keys == ()


@pytest.mark.parametrize(
    "actions",
    ["ADD SYSTEM VERSIONING", "ADD PERIOD FOR SYSTEM_TIME (b, c)", "DROP SYSTEM VERSIONING"],
)
def test_versioning_is_not_applied(actions: str) -> None:
    with pytest.raises(NotAppliedError, match="versioning"):
        after(actions, mode=STRICT)
