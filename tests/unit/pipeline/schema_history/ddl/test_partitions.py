"""The rows of partitions, through the changes that ALTER TABLE makes to them."""

from __future__ import annotations

import pytest

from decoder import TableDefinition, TypeOptions
from pipeline.schema_history.alter.partition_changes import partition_changes
from pipeline.schema_history.ddl.ddl import StatementContext, effects
from pipeline.schema_history.ddl.effects import AlterTable, CreateTable
from pipeline.schema_history.ddl.model import TableModel
from pipeline.schema_history.ddl.partitions import PartitionRows

RANGE = (
    "id int PRIMARY KEY) PARTITION BY RANGE (id) (PARTITION a VALUES LESS THAN (-5),"
    " PARTITION b VALUES LESS THAN (10), PARTITION c VALUES LESS THAN MAXVALUE"
)
LIST = (
    "`x y` bigint unsigned) PARTITION BY LIST (`X Y`) (PARTITION a VALUES IN (1, 7, NULL),"
    " PARTITION b VALUES IN (18446744073709551615)"
)
DAYS = (
    "d date, PRIMARY KEY (d)) PARTITION BY RANGE COLUMNS (d) (PARTITION a VALUES LESS THAN"
    " ('1970-01-01') COMMENT 'x', PARTITION b VALUES LESS THAN ('0000-00-01x')"
)
YEARS = (
    "d datetime PRIMARY KEY) PARTITION BY RANGE (YEAR(d)) SUBPARTITION BY HASH (TO_DAYS(d))"
    " SUBPARTITIONS 2 (PARTITION a VALUES LESS THAN (2024) (SUBPARTITION s, SUBPARTITION u)"
)
DATES = (
    "d date PRIMARY KEY) PARTITION BY RANGE COLUMNS (d) (PARTITION a VALUES LESS THAN"
    " ('1970-01-02 00:00:00') ENGINE = 'InnoDB', PARTITION b VALUES LESS THAN (MAXVALUE)"
)


def changed(
    table: str, *alters: str, types: TypeOptions | None = None
) -> tuple[PartitionRows | None, str, TableModel]:
    """Return the rows that the last ALTER removes, why they are unknown, and the model after it."""
    (created,) = effects(f"CREATE TABLE t ({table})", StatementContext("s"))
    assert isinstance(created, CreateTable)
    model, found = created.model, {}
    for alter in alters:
        (effect,) = effects(f"ALTER TABLE t {alter}", StatementContext("s"))
        assert isinstance(effect, AlterTable)
        definition: TableDefinition = created.definition
        found = partition_changes(definition, model, effect.actions, types or TypeOptions())
        model = found.get("model", model)
    assert model is not None
    assert TableModel.from_json(model.to_json()) == model
    return found.get("gone"), found.get("not_logged", ""), model


@pytest.mark.parametrize(
    ("table", "alters", "ranges", "null"),
    [
        (RANGE, ("DROP PARTITION a",), [(None, -5)], True),
        (RANGE, ("TRUNCATE PARTITION B, c",), [(-5, 10), (10, None)], False),
        (RANGE, ("TRUNCATE PARTITION ALL",), [(None, -5), (-5, 10), (10, None)], True),
        # the next one covers its range
        (RANGE, ("DROP PARTITION b", "DROP PARTITION c"), [(-5, None)], False),
        (RANGE, ("DROP PARTITION a", "DROP PARTITION b"), [(None, 10)], True),
        (
            RANGE,
            (
                "REORGANIZE PARTITION a, b INTO (PARTITION ab VALUES LESS THAN (10))",
                "DROP PARTITION IF EXISTS ab",
            ),
            [(None, 10)],
            True,
        ),
        (
            RANGE,
            (
                "DROP PARTITION c",
                (
                    "ADD PARTITION (PARTITION c VALUES LESS THAN (20),"
                    " PARTITION d VALUES LESS THAN (30))"
                ),
                "TRUNCATE PARTITION d",
            ),
            [(20, 30)],
            False,
        ),
        (
            RANGE,
            (
                "PARTITION BY LIST (id) (PARTITION a VALUES IN (1))",
                "ADD PARTITION (PARTITION b VALUES IN (2, NULL))",
                "TRUNCATE PARTITION b",
            ),
            [(2, 3)],
            True,
        ),
        (
            RANGE,
            (
                "ADD PARTITION IF NOT EXISTS (PARTITION B VALUES LESS THAN (10))",
                "DROP PARTITION IF EXISTS nosuch, b",
            ),
            [(-5, 10)],
            False,
        ),
        (LIST, ("DROP PARTITION a",), [(1, 2), (7, 8)], True),
        (LIST, ("DROP PARTITION b",), [(2**64 - 1, 2**64)], False),
        (
            YEARS,
            ("DROP PARTITION a",),
            [(None, 2024)],
            True,
        ),
        (
            DATES,
            ("TRUNCATE PARTITION b",),
            [(719529, None)],
            False,
        ),
    ],
)
def test_rows_of_partitions(
    table: str, alters: tuple[str, ...], ranges: list[tuple[int | None, int | None]], null: bool
) -> None:
    rows, _, _ = changed(table, *alters)
    assert rows is not None
    assert (list(rows.ranges), rows.null) == (ranges, null)


@pytest.mark.parametrize(
    ("table", "alters", "reason"),
    [
        ("id int", ("TRUNCATE PARTITION a",), "is not in the log"),
        ("id int) PARTITION BY HASH (id", ("TRUNCATE PARTITION p0",), "is not in the log"),
        (RANGE, ("TRUNCATE PARTITION nosuch",), "partition nosuch is unknown"),
        (RANGE, ("REMOVE PARTITIONING", "TRUNCATE PARTITION a"), "is not in the log"),
        (RANGE, ("PARTITION BY KEY (id)", "TRUNCATE PARTITION p0"), "is not in the log"),
        (
            RANGE,
            (
                "REORGANIZE PARTITION nosuch INTO (PARTITION a VALUES LESS THAN (1))",
                "DROP PARTITION a",
            ),
            "is not in the log",
        ),
        (RANGE.replace("(id)", "(id * 2)"), ("DROP PARTITION a",), "is not in the log"),
        (RANGE.replace("(10)", "(5 + 5)"), ("DROP PARTITION a",), "is not in the log"),
        (DAYS, ("DROP PARTITION a",), "is not in the log"),
        (
            "d date) PARTITION BY RANGE (TO_DAYS(d)) (PARTITION a VALUES LESS THAN (5)",
            ("DROP PARTITION a",),
            "impossible dates",
        ),
        (
            DATES.replace("d date", "d varchar(9)"),
            ("DROP PARTITION a",),
            "partitioned by type VARCHAR",
        ),
    ],
)
def test_rows_that_cannot_be_determined(table: str, alters: tuple[str, ...], reason: str) -> None:
    rows, not_logged, _ = changed(table, *alters)
    assert rows is None
    assert reason in not_logged
    assert "replace it with a copy" in not_logged


def test_dates_stored_as_text_in_gold_are_not_supported() -> None:
    table = "d date PRIMARY KEY) PARTITION BY RANGE (YEAR(d)) (PARTITION a VALUES LESS THAN (5)"
    assert changed(table, "DROP PARTITION a")[0] is not None
    _, not_logged, _ = changed(table, "DROP PARTITION a", types=TypeOptions(zero_dates="string"))
    assert "stored as text" in not_logged


def test_without_its_create_a_table_s_partitions_are_unknown() -> None:
    (effect,) = effects("ALTER TABLE t TRUNCATE PARTITION a", StatementContext("s"))
    assert isinstance(effect, AlterTable)
    (created,) = effects("CREATE TABLE t (id int)", StatementContext("s"))
    assert isinstance(created, CreateTable)
    found = partition_changes(created.definition, None, effect.actions, TypeOptions())
    assert list(found) == ["not_logged"]


def test_dropping_a_missing_partition_has_no_effect() -> None:
    assert changed(RANGE, "DROP PARTITION IF EXISTS nosuch")[:2] == (None, "")
