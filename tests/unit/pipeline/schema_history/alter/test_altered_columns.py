"""Apply one ALTER TABLE to a definition: the order of columns, and the origin of their values."""

from __future__ import annotations

import pytest
from hypothesis import given, strategies as st

from decoder import TableDefinition
from pipeline.schema_history.alter.altered_columns import Alteration, NotAppliedError, altered
from pipeline.schema_history.alter.items import ColumnStep
from pipeline.schema_history.ddl.conversion_mode import ConversionMode
from pipeline.schema_history.ddl.ddl import StatementContext, effects
from pipeline.schema_history.ddl.effects import AlterTable, CreateTable
from pipeline.schema_history.ddl.keys import Key
from pipeline.schema_history.ddl.lexer import SqlMode
from pipeline.schema_history.ddl.model import ColumnDefault, TableModel

STRICT = ConversionMode(int(SqlMode.STRICT_TRANS_TABLES))
LOOSE = ConversionMode()


def created(columns: str) -> CreateTable:
    (effect,) = effects(f"CREATE TABLE t ({columns})", StatementContext("s"))
    assert isinstance(effect, CreateTable)
    return effect


def after(
    actions: str,
    columns: str = "a int PRIMARY KEY, b int, C int",
    mode: ConversionMode = STRICT,
    *,
    known: bool = True,
) -> Alteration:
    table = created(columns)
    (effect,) = effects(f"ALTER TABLE t {actions}", StatementContext("s"))
    assert isinstance(effect, AlterTable)
    model = table.model if known else None
    return altered(table.definition, model, effect.actions, mode)


def names(change: Alteration) -> list[str]:
    assert [c.name for c in change.definition.columns] == [step.name for step in change.steps]
    return [column.name for column in change.definition.columns]


@pytest.mark.parametrize(
    ("actions", "expected"),
    [
        ("ADD x int", "a b C x"),
        ("ADD x int FIRST, ADD y int AFTER A", "x a y b C"),
        ("ADD x int AFTER a, ADD y int AFTER a", "a y x b C"),
        ("ADD x int AFTER y, ADD y int", None),
        ("ADD y int, ADD x int AFTER y", "a b C y x"),
        ("DROP b", "a C"),
        ("DROP B, ADD b bigint", "a C b"),
        ("RENAME COLUMN b TO x, ADD y int AFTER x", "a x y C"),
        ("RENAME COLUMN b TO c, RENAME COLUMN C TO b", "a c b"),
        ("MODIFY a int NOT NULL AFTER c", "b C a"),
        ("MODIFY c int FIRST, MODIFY b int FIRST", "b c a"),
        ("CHANGE b x int, MODIFY a int NOT NULL AFTER x", "x a C"),
        ("MODIFY a int NOT NULL AFTER b, CHANGE b x int", None),
        ("CHANGE b c int, CHANGE c b int", "a c b"),
        ("ADD x int AFTER b, MODIFY b int FIRST", None),
        ("MODIFY b int FIRST, ADD x int AFTER b", "b x a C"),
        ("DROP nosuch", None),
        ("DROP COLUMN IF EXISTS nosuch, DROP b", "a C"),
        ("ADD COLUMN IF NOT EXISTS b bigint, ADD x int", "a b C x"),
        ("ADD b int", None),
    ],
)
def test_columns_are_ordered_as_by_the_server(actions: str, expected: str | None) -> None:
    if expected is None:
        with pytest.raises(NotAppliedError):
            after(actions)
    else:
        assert names(after(actions)) == expected.split()


@pytest.mark.parametrize(
    ("actions", "steps"),
    [
        ("ADD x int DEFAULT 7 AFTER a", [
            ColumnStep("a", "a"), ColumnStep("x", text="7"), ColumnStep("b", "b"),
            ColumnStep("C", "C"),
        ]),
        ("CHANGE b c bigint, CHANGE C b int", [
            ColumnStep("a", "a"), ColumnStep("c", "b", "cast"), ColumnStep("b", "C"),
        ]),
        ("DROP b, DROP c, ADD b int", [ColumnStep("a", "a"), ColumnStep("b")]),
    ],
)  # fmt: skip
def test_each_column_records_the_origin_of_its_values(
    actions: str, steps: list[ColumnStep]
) -> None:
    assert list(after(actions).steps) == steps


@pytest.mark.parametrize(
    ("actions", "key"),
    [
        ("RENAME COLUMN b TO x", ("a", "x")),
        ("MODIFY b bigint FIRST", ("a", "b")),
        ("CHANGE a z bigint AFTER b", ("z", "b")),
        ("DROP b, ADD b int", ("a",)),
    ],
)
def test_the_key_follows_its_columns(actions: str, key: tuple[str, ...]) -> None:
    definition = after(actions, "a int, b int, c int, PRIMARY KEY (a, b)").definition
    assert definition.key == key
    assert all(not definition.columns[place].nullable for place in definition.primary_key)


@pytest.mark.parametrize(
    ("actions", "columns", "reason"),
    [
        ("MODIFY a int AUTO_INCREMENT", "a int PRIMARY KEY", "AUTO_INCREMENT"),
        ("MODIFY g int AS (a + 1)", "a int PRIMARY KEY, g int", "a generated column"),
        ("MODIFY b decimal(5,1)", "b decimal(5,2), g int AS (b)", "generated from it"),
        ("MODIFY b decimal(6,2)", "b decimal(5,2), g int AS (b)", None),
        ("MODIFY b decimal(6,3)", "b decimal(5,2), g text AS (concat(`B`))", "generated from it"),
        ("MODIFY b decimal(6,3)", "b decimal(5,2), c int, g int AS (c)", None),
        ("MODIFY b char(5)", "b varchar(5), g int AS (length(b))", "generated from it"),
        ("MODIFY b varchar(9)", "b varchar(5), g int AS (length(b))", None),
        ("MODIFY b varchar(5) CHARSET latin1", "b varchar(5), g int AS (length(b))", "from it"),
        ("MODIFY b binary(9)", "b binary(5), g int AS (length(b))", "generated from it"),
        ("MODIFY b bigint", "b int, g int AS (b)", None),
        ("MODIFY b bigint unsigned", "b int unsigned, g text AS (concat(b))", "generated from it"),
        ("MODIFY b enum('x','y')", "b enum('x'), g int AS (b + 0)", None),
        ("MODIFY b enum('y','x')", "b enum('x'), g int AS (b + 0)", "generated from it"),
        ("CONVERT TO CHARACTER SET utf8mb4", "b text, g int AS (length(b))", "is converted"),
        ("CONVERT TO CHARACTER SET utf8mb4", "b text, c int, g int AS (c)", None),
        ("ADD x int, ENGINE = blackhole", "a int", "BLACKHOLE"),
        ("CONVERT TO CHARACTER SET binary", "a text", "bytes"),
        # NULL becomes a number, or the statement's time, even in strict mode
        ("MODIFY a int AUTO_INCREMENT, ADD KEY (a)", "a int", "zeros and NULLs"),
        ("MODIFY a timestamp NOT NULL", "a timestamp NULL", "the statement's time"),
        ("MODIFY a timestamp", "a timestamp NULL", "the statement's time"),
        ("MODIFY a timestamp NULL", "a timestamp NULL", None),
    ],
)
def test_changes_with_unknown_results_are_not_applied(
    actions: str, columns: str, reason: str | None
) -> None:
    if reason is None:
        after(actions, columns)
        return
    with pytest.raises(NotAppliedError, match=reason):
        after(actions, columns)


@pytest.mark.parametrize(
    "actions",
    ["ADD UNIQUE (b)", "ADD x int UNIQUE", "MODIFY b int", "CONVERT TO CHARSET utf8mb4"],
)
def test_alter_ignore_drops_rows_with_duplicate_keys(actions: str) -> None:
    ignoring = ConversionMode(int(SqlMode.STRICT_TRANS_TABLES), ignore=True)
    with pytest.raises(NotAppliedError, match="ALTER IGNORE"):
        after(actions, mode=ignoring)
    assert after("ADD x int", mode=ignoring)


def test_timestamps_may_be_null_if_the_session_allows_it() -> None:
    explicit = ConversionMode(int(SqlMode.STRICT_TRANS_TABLES), explicit_timestamps=True)
    assert after("MODIFY a timestamp", "a timestamp NULL", explicit)
    with pytest.raises(NotAppliedError, match="the statement's time"):
        after("MODIFY a timestamp NOT NULL", "a timestamp NULL", explicit)


def test_an_auto_increment_column_stays_one() -> None:
    columns = "id int AUTO_INCREMENT PRIMARY KEY, b varchar(3)"
    change = after("CHANGE id `Id` bigint AUTO_INCREMENT", columns)
    key = Key("PRIMARY", ("Id",), (0,))
    default = ColumnDefault("Id", reason="AUTO_INCREMENT", nullable=False)
    assert change.model == TableModel("Id", defaults=(default,), keys=(key,))
    with pytest.raises(NotAppliedError, match="AUTO_INCREMENT"):
        after("CHANGE id id bigint AUTO_INCREMENT", columns, known=False)
    zeros = ConversionMode(int(SqlMode.STRICT_ALL_TABLES | SqlMode.NO_AUTO_VALUE_ON_ZERO))
    assert names(after("MODIFY id bigint AUTO_INCREMENT", columns, zeros, known=False))


def test_changed_values_may_change_generated_columns() -> None:
    assert after("MODIFY b char(3)", "b varchar(3)").steps[0].convert == "rtrim"
    with pytest.raises(NotAppliedError, match="generated"):
        after("MODIFY b char(3)", "b varchar(3)", known=False)


@pytest.mark.parametrize("actions", ["MODIFY b smallint", "MODIFY b int NOT NULL"])
def test_only_a_strict_session_guarantees_that_values_fit(actions: str) -> None:
    assert after(actions)
    with pytest.raises(NotAppliedError, match="not strict"):
        after(actions, mode=LOOSE)


PLACES = st.sampled_from(["", " FIRST", " AFTER a", " AFTER b", " AFTER C"])


@given(st.lists(st.tuples(st.sampled_from("xyzuvw"), PLACES), unique_by=lambda pair: pair[0]))
def test_added_columns_keep_the_order_of_existing_ones(added: list[tuple[str, str]]) -> None:
    if not added:
        return
    before: TableDefinition = created("a int PRIMARY KEY, b int, C int").definition
    change = after(", ".join(f"ADD {name} int{place}" for name, place in added))
    assert [step.name for step in change.steps if step.old] == ["a", "b", "C"]
    assert change.only_adds(before)
    assert len(change.steps) == 3 + len(added)
