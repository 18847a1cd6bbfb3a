"""Folding changes to one row per key, on silver rows made by hand."""

from __future__ import annotations

from datetime import datetime, timezone
from typing import Any

import pytest
from chispa import assert_df_equality
from pyspark.sql import DataFrame, SparkSession

from pipeline.gold.changes.changes import Skipped, without, without_here
from pipeline.gold.changes.fold import DELETE, Shape, displaced, fold, key_changed, outcomes

IMAGE = "struct<id: int, name: string, `a.b`: double>"
SILVER = f"__op string, __lsn bigint, __pos bigint, __row int, __committed_at timestamp, \
before {IMAGE}, after {IMAGE}"
GOLD = (
    f"id int, name string, `a.b` double, __lsn bigint, __committed_at timestamp, {DELETE} boolean"
)
SHAPE = Shape(("id", "name", "a.b"), ("id",))
AT = datetime(2024, 2, 29, 12, tzinfo=timezone.utc)

Image = tuple[Any, ...]
Change = tuple[str, int, int, int, Image | None, Image | None]


def silver(spark: SparkSession, changes: list[Change]) -> DataFrame:
    rows = [(op, lsn, pos, row, AT, b, a) for op, lsn, pos, row, b, a in changes]
    return spark.createDataFrame(rows, SILVER)


def expect(actual: DataFrame, spark: SparkSession, rows: list[tuple[Any, ...]]) -> None:
    wanted = spark.createDataFrame([(*row[:-1], AT, row[-1]) for row in rows], GOLD)
    ordered = (actual.orderBy("id"), wanted.orderBy("id"))
    assert_df_equality(*ordered, ignore_nullable=True, ignore_metadata=True)


def insert(lsn: int, *image: Any, pos: int = 0, row: int = 0) -> Change:
    return "insert", lsn, pos, row, None, image


def update(lsn: int, before: Image, after: Image, pos: int = 0, row: int = 0) -> Change:
    return "update", lsn, pos, row, before, after


def delete(lsn: int, *image: Any, pos: int = 0, row: int = 0) -> Change:
    return "delete", lsn, pos, row, image, None


A, B, C = (1, "a", 0.5), (2, "b", None), (3, None, 1.5)

CASES: dict[str, tuple[list[Change], list[tuple[Any, ...]]]] = {
    "an insert": ([insert(1, *A)], [(*A, 1, False)]),
    "a delete keeps only the key": ([delete(1, *A)], [(1, None, None, 1, True)]),
    "the last update of a key": (
        [update(3, A, (1, "c", 2.0)), update(2, A, (1, "b", 1.0))],
        [(1, "c", 2.0, 3, False)],
    ),
    "an update to NULL is no delete": (
        [update(1, A, (1, None, None))],
        [(1, None, None, 1, False)],
    ),
    "insert, then delete": ([insert(1, *A), delete(2, *A)], [(1, None, None, 2, True)]),
    "delete, then insert": ([delete(1, *A), insert(2, 1, "z", 9.0)], [(1, "z", 9.0, 2, False)]),
    "a key that moves leaves its old place": (
        [update(1, A, (4, "a", 0.5))],
        [(1, None, None, 1, True), (4, "a", 0.5, 1, False)],
    ),
    "a key that moves away and is taken again": (
        [update(1, A, (4, "a", 0.5)), insert(2, 1, "new", None)],
        [(1, "new", None, 2, False), (4, "a", 0.5, 1, False)],
    ),
    "a chain of moves in one event": (
        [update(1, C, (4, None, 1.5), 7, 0), update(1, B, (3, "b", None), 7, 1)],
        [(2, None, None, 1, True), (3, "b", None, 1, False), (4, None, 1.5, 1, False)],
    ),
    "a swap over a third key": (
        [
            update(1, A, (0, "a", 0.5), 1),
            update(1, B, (1, "b", None), 2),
            update(1, (0, "a", 0.5), (2, "a", 0.5), 3),
        ],
        [
            (0, None, None, 1, True),
            (1, "b", None, 1, False),
            (2, "a", 0.5, 1, False),
        ],
    ),
    "order within a transaction is by position": (
        [update(5, A, (1, "last", 1.0), pos=200), update(5, A, (1, "first", 1.0), pos=100, row=9)],
        [(1, "last", 1.0, 5, False)],
    ),
    "order within an event is by row": (
        [update(5, A, (1, "last", 1.0), pos=9, row=11), update(5, A, (1, "x", 1.0), pos=9, row=2)],
        [(1, "last", 1.0, 5, False)],
    ),
    "order between files is by LSN, whatever the positions": (
        [update(2 << 40, A, (1, "new", 1.0), pos=4), update(1 << 40, A, (1, "x", 1.0), pos=900)],
        [(1, "new", 1.0, 2 << 40, False)],
    ),
    "keys apart stay apart": (
        [insert(1, *A), insert(1, *B, row=1), delete(2, *C)],
        [(*A, 1, False), (*B, 1, False), (3, None, None, 2, True)],
    ),
}


@pytest.fixture(scope="module")
def folded(spark: SparkSession) -> dict[str, list[tuple[Any, ...]]]:
    """Fold all cases in one job: the case's name is part of the key."""
    cased = f"struct<case: string, {IMAGE.removeprefix('struct<')}"
    rows = [
        (op, lsn, pos, row, AT, b and (name, *b), a and (name, *a))
        for name, (changes, _) in CASES.items()
        for op, lsn, pos, row, b, a in changes
    ]
    frame = spark.createDataFrame(rows, SILVER.replace(IMAGE, cased))
    shape = Shape(("case", *SHAPE.columns), ("case", *SHAPE.key))
    found: dict[str, list[tuple[Any, ...]]] = {name: [] for name in CASES}
    for name, *row in fold(frame, shape).drop("__committed_at").orderBy("id").collect():
        found[name].append(tuple(row))
    return found


@pytest.mark.parametrize("name", CASES)
def test_fold_returns_the_last_state_of_each_key(
    folded: dict[str, list[tuple[Any, ...]]], name: str
) -> None:
    _changes, wanted = CASES[name]
    assert folded[name] == wanted


def test_fold_returns_golds_columns(spark: SparkSession) -> None:
    changes = [insert(1, *A), update(2, B, (5, "b", 0.25)), delete(3, *C)]
    wanted = [
        (*A, 1, False),
        (2, None, None, 2, True),
        (3, None, None, 3, True),
        (5, "b", 0.25, 2, False),
    ]
    expect(fold(silver(spark, changes), SHAPE), spark, wanted)


TEXT_KEY = "__op string, __lsn bigint, __pos bigint, __row int, __committed_at timestamp, \
before struct<k: string, n: int>, after struct<k: string, n: int>"


def test_keys_are_compared_by_bytes_not_by_collation(spark: SparkSession) -> None:
    changes = spark.createDataFrame(
        [("update", 1, 0, 0, AT, ("abc", 1), ("ABC", 1)), ("insert", 2, 0, 0, AT, None, ("é", 2))],
        TEXT_KEY,
    )
    folded = fold(changes, Shape(("k", "n"), ("k",)))
    states = {row["k"]: row[DELETE] for row in folded.collect()}
    assert states == {"abc": True, "ABC": False, "é": False}


PAIR_KEY = "__op string, __lsn bigint, __pos bigint, __row int, __committed_at timestamp, \
before struct<a: int, v: string, b: string>, after struct<a: int, v: string, b: string>"


def test_a_key_of_several_columns_moves_when_any_of_them_changes(spark: SparkSession) -> None:
    shape = Shape(("a", "v", "b"), ("b", "a"))
    changes = spark.createDataFrame(
        [
            ("update", 1, 0, 0, AT, (1, "v", "x"), (1, "v", "y")),
            ("update", 1, 0, 1, AT, (2, "v", "x"), (2, "w", "x")),
        ],
        PAIR_KEY,
    )
    rows = {(row["a"], row["b"]): row[DELETE] for row in fold(changes, shape).collect()}
    assert rows == {(1, "x"): True, (1, "y"): False, (2, "x"): False}
    assert changes.where(key_changed(shape.key)).count() == 1


def test_without_key_changes_nothing_is_displaced(spark: SparkSession) -> None:
    changes = silver(spark, [insert(1, *A), update(2, A, (1, "n", 0.5)), delete(3, *B)])
    assert displaced(changes, SHAPE).isEmpty()
    expect(
        fold(changes, SHAPE, key_changes=False),
        spark,
        [(1, "n", 0.5, 2, False), (2, None, None, 3, True)],
    )


def test_outcomes_only_read_the_key_of_the_before_image(spark: SparkSession) -> None:
    changes = silver(spark, [delete(1, *A)])
    found = outcomes(changes, SHAPE).select("id", "name", "`a.b`", DELETE).first()
    assert found is not None
    assert tuple(found) == (1, None, None, True)


def test_rolled_back_changes_are_left_out(spark: SparkSession) -> None:
    changes = silver(
        spark,
        [
            insert(1, 1, "kept", 0.0, pos=99),
            insert(1, 2, "gone", 0.0, pos=100),
            insert(1, 3, "gone", 0.0, pos=149),
            insert(1, 4, "kept", 0.0, pos=150),
            insert(2, 5, "kept", 0.0, pos=120),
        ],
    )
    left = without(changes, [Skipped(1, 100, 150)])
    assert sorted(row["after"]["id"] for row in left.collect()) == [1, 4, 5]
    assert without(changes, []) is changes


@pytest.mark.parametrize(
    ("skip", "kept"),
    [
        ([], [1, 2, 3, 4, 5]),
        ([Skipped(1, 100, 150)], [1, 4, 5]),
        ([Skipped(1, 0, 100), Skipped(2, 0, 1 << 62)], [2, 3, 4]),
        ([Skipped(1, 1, 3, inside=True)], [1, 4, 5]),
    ],
)
def test_changes_are_left_out_in_arrow_as_in_spark(
    spark: SparkSession, skip: list[Skipped], kept: list[int]
) -> None:
    places = [(1, 99, 0), (1, 100, 1), (1, 149, 2), (1, 150, 3), (2, 120, 1)]
    rows = [(n, *place) for n, place in enumerate(places, start=1)]
    changes = spark.createDataFrame(rows, "id int, __lsn bigint, __pos bigint, __row int")
    assert sorted(row["id"] for row in without(changes, skip).collect()) == kept
    assert without_here(changes.toArrow(), skip)["id"].to_pylist() == kept
