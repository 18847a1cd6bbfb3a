"""Generated columns that images leave out: computed from the change, the row, or not at all."""

from __future__ import annotations

from datetime import datetime, timezone
from typing import TYPE_CHECKING, Any

import pytest

from decoder import TypeOptions
from pipeline.gold.changes.fold import shape_of
from pipeline.gold.changes.fold_partial import MISSING, fold_partial
from pipeline.gold.changes.images import LeftOut
from pipeline.gold.changes.refusals import key_left_out, refuse_unknown, row_left_out
from pipeline.gold.changes.steps import Rows
from pipeline.gold.schema.unlogged import completed, left_out
from pipeline.gold.table.state import TableRefusedError
from pipeline.schema_history import Timeline
from pipeline.schema_history.timeline.timeline import LoggedStatement, TimelineOptions

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

AT = datetime(2026, 1, 2, tzinfo=timezone.utc)
CREATE = (
    "CREATE TABLE t (id int PRIMARY KEY, a int, b int, t varchar(9),"
    " v int AS (a + b) VIRTUAL, w int AS (v * 2) PERSISTENT, r varchar(9) AS (REVERSE(t)))"
)
NAMES = ("id", "a", "b", "t", "v", "w", "r")
IMAGE = "struct<id: int, a: int, b: int, t: string, v: int, w: int, r: string>"
SILVER = (
    "__op string, __lsn bigint, __pos bigint, __row int, __committed_at timestamp, __gtid string,"
    " __absent_before array<string>, __absent_after array<string>,"
    f" __json_diff map<string, string>, before {IMAGE}, after {IMAGE}"
)
GOLD = "id int, a int, b int, t string, v int, w int, r string, __lsn bigint"
Image = dict[str, Any]


def rows_of(*statements: str) -> Rows:
    timeline = Timeline((), TimelineOptions())
    for n, statement in enumerate(statements, 1):
        logged = LoggedStatement(n, n, statement, "s", ddl_xid=n, executed_at=AT, mariadb=True)
        timeline.statement(logged)
    item = timeline.new[-1]
    assert item.definition is not None
    return Rows(item.definition, 1, (1, 0), (99, 0), ("id",), True, item.model)


def changes(spark: SparkSession, *logged: tuple[str, Image | None, Image | None]) -> DataFrame:
    """Return a change for each operation with the given images."""
    found = []
    for n, (op, before, after) in enumerate(logged):
        sides = (before, after)
        absent = [
            None if side is None else [name for name in NAMES if name not in side] or None
            for side in sides
        ]
        images = [side and {name: side.get(name) for name in NAMES} for side in sides]
        found.append((op, n + 1, 0, 0, AT, f"0-1-{n}", *absent, None, *images))
    return spark.createDataFrame(found, SILVER)


def meaning(*statements: str) -> LeftOut:
    return left_out(rows_of(*(statements or (CREATE,))), TypeOptions())


def test_changes_are_completed_from_their_own_images(spark: SparkSession) -> None:
    whole = {"id": 1, "a": 1, "b": 2, "t": "xy"}
    logged = changes(
        spark,
        ("update", whole, {**whole, "a": 5}),
        ("update", whole, {"b": 10}),  # the rest is what it was
        ("update", {"id": 1}, {"a": 5, "b": 5}),
        ("update", {"id": 1}, {"a": 5}),  # b is not known here
        ("delete", whole, None),
        ("insert", None, {"id": 1, "a": 2, "b": 3, "t": "x", "w": 10, "r": "x"}),
        ("insert", None, {"id": 1, "a": 2, "t": "x", "w": 10, "r": "x"}),  # b by its DEFAULT
    )
    found = completed(logged, meaning()).orderBy("__lsn").collect()

    def values(row: Any, side: str) -> Any:
        return row[side] and {
            name: row[side][name]
            for name in ("v", "w")
            if name not in (row[f"__absent_{side}"] or ())
        }

    before = {"v": 3, "w": 6}
    assert [(values(row, "before"), values(row, "after")) for row in found] == [
        (before, {"v": 7, "w": 14}),
        (before, {"v": 11, "w": 22}),
        ({}, {"v": 10, "w": 20}),
        ({}, {}),
        (before, None),
        (None, {"v": 5, "w": 10}),
        (None, {"v": None, "w": 10}),
    ]
    assert [row["__absent_after"] for row in found[:2]] == [["r"], ["id", "a", "t", "r"]]


def test_the_plan_of_columns_generated_from_each_other_grows_with_their_number(
    spark: SparkSession,
) -> None:
    def size(count: int) -> int:
        columns = [f"g{n} int AS (g{n - 1} + g{n - 1})" for n in range(1, count)]
        create = f"CREATE TABLE t (id int PRIMARY KEY, g0 int, {', '.join(columns)})"
        image = f"struct<id: int, {', '.join(f'g{n}: int' for n in range(count))}>"
        logged = spark.createDataFrame([], SILVER.replace(IMAGE, image))
        return len(completed(logged, meaning(create))._jdf.queryExecution().analyzed().toString())

    assert size(9) < 3 * size(5)


def test_columns_missing_in_images_are_computed_from_the_complete_row(spark: SparkSession) -> None:
    logged = changes(
        spark,
        ("update", {"id": 1}, {"a": 5}),
        ("update", {"id": 1}, {"t": "zz", "r": "zz"}),
        ("update", {"id": 2}, {"b": 7}),
        ("update", {"id": 2}, {"id": 3}),
        ("update", {"id": 4}, {"id": 5, "a": 0, "b": 0}),
        ("update", {"id": 6}, {"a": 5}),
        ("delete", {"id": 6}, None),
    )
    held = [(n, 1, 2, "xy", 3, 6, "yx", 0) for n in (1, 2, 4, 6)]
    gold = spark.createDataFrame(held, GOLD)
    rows, meant = rows_of(CREATE), meaning()
    shape = shape_of(rows.definition, rows.key)
    folded = fold_partial(completed(logged, meant), shape, gold, meant, lives=True).collect()
    values = {row["id"]: [row[name] for name in NAMES[1:]] for row in folded}
    missing = {row["id"]: set(row[MISSING]) for row in folded}
    assert values[1] == [5, 2, "zz", 7, 14, "zz"]
    assert values[3] == [1, 7, "xy", 8, 16, "yx"]
    assert values[5] == [0, 0, "xy", 0, 0, "yx"]
    assert not any(missing.values())


def test_a_table_is_held_if_an_unsupported_generated_column_may_have_changed(
    spark: SparkSession,
) -> None:
    known = {"id": 1, "t": "a"}
    cases: list[tuple[Image, Image, bool]] = [
        (known, known, False),
        (known, {"id": 2}, False),
        (known, {"id": 1, "t": "b"}, True),
        ({"id": 1}, {"t": "b"}, True),
        ({"id": 1, "t": "\ufffd"}, {"id": 1, "t": "\ufffd"}, True),
    ]
    updates = changes(spark, *(("update", before, after) for before, after, _ in cases))
    meant, volatile = meaning(), meaning(CREATE.replace("(REVERSE(t))", "(CONNECTION_ID())"))
    logged = completed(updates, meant)
    unknown = {row["__lsn"] for row in logged.where(meant.is_unknown()).collect()}
    assert unknown == {n for n, (*_, held) in enumerate(cases, 1) if held}
    reason = r"r \(generated as REVERSE\(t\): REVERSE in its expression\)\. MariaDB leaves"
    with pytest.raises(TableRefusedError, match=reason):
        refuse_unknown(logged, meant, 3)
    with pytest.raises(TableRefusedError, match=r"r \(generated as CONNECTION_ID"):
        refuse_unknown(completed(updates, volatile), volatile, 2)


@pytest.mark.usefixtures("spark")
def test_the_refusal_names_a_key_that_cannot_be_computed() -> None:
    meant, logged = meaning(), "set binlog_row_image=FULL there"
    assert "its key in the settings includes r (generated as REVERSE(t)" in str(
        key_left_out(1, ["r"], meant)
    )
    assert logged in str(key_left_out(1, ["id"], meant))
    assert "do not contain whole rows: v (generated as a + b" in str(row_left_out(1, meant))
    assert logged in str(row_left_out(1, LeftOut()))


@pytest.mark.usefixtures("spark")
def test_a_column_named_like_a_function_does_not_depend_on_itself() -> None:
    create = (
        "CREATE TABLE t (id int PRIMARY KEY, a text, lower text AS (LOWER(a)),"
        " `end` int AS (CASE WHEN id THEN 1 END))"
    )
    found = {
        one.name: (set(one.reads), dict(one.sources or {})) for one in meaning(create).unlogged
    }
    expected: dict[str, Any] = {"lower": ({"a"}, {"a": "text"}), "end": ({"id"}, {"id": ""})}
    assert found == expected


def test_a_column_without_ddl_may_be_generated(spark: SparkSession) -> None:
    known = LeftOut(undeclared=frozenset({"v"}))
    whole = {name: 1 for name in NAMES if name not in ("v", "t", "r")}
    logged = changes(spark, ("update", whole, {**whole, "a": 2}), ("update", {**whole, "v": 1}, {}))
    assert [row["__lsn"] for row in logged.where(known.is_unknown()).collect()] == [1]
    assert known.unknown(logged.where("__lsn = 1")) == {"v": ""}
    of_mysql = logged.withColumn("__gtid", logged["__lsn"].cast("string"))
    assert of_mysql.where(known.is_unknown()).isEmpty()
