"""Keys that the source does not guarantee: a second row with the same key is found."""

from __future__ import annotations

from datetime import datetime, timezone
from typing import Any

from pyspark.sql import SparkSession

from pipeline.gold.changes.fold import Shape
from pipeline.gold.changes.images import LeftOut
from pipeline.gold.changes.key_checks import first_repeated

IMAGE = "struct<id: int, k: string>"
SILVER = (
    "__op string, __lsn bigint, __pos bigint, __row int, __committed_at timestamp,"
    " __absent_before array<string>, __absent_after array<string>,"
    f" __json_diff map<string, string>, before {IMAGE}, after {IMAGE}"
)
AT = datetime(2024, 2, 29, 12, tzinfo=timezone.utc)
Change = tuple[str, Any, Any]


def repeated(spark: SparkSession, changes: list[Change], gold: list[tuple[Any, ...]]) -> int | None:
    """Return the first of changes at LSNs 100, 101, … that adds a row to an occupied key."""
    rows = [
        (op, 100 + n, 4, 0, AT, None, None, None, before, after)
        for n, (op, before, after) in enumerate(changes)
    ]
    there = spark.createDataFrame(gold, "id int, k string, __lsn bigint")
    shape = Shape(("id", "k"), ("k",), given=frozenset({"k"}), unique=False)
    return first_repeated(spark.createDataFrame(rows, SILVER), shape, there, LeftOut())


def test_a_second_row_of_a_key_is_found(spark: SparkSession) -> None:
    a, b, c = (1, "a"), (2, "a"), (3, "c")
    once: list[Change] = [
        ("insert", None, a),
        ("update", a, (5, "a")),
        ("update", (5, "a"), (5, "b")),
        ("insert", None, b),
        ("delete", b, None),
        ("insert", None, b),
    ]
    assert repeated(spark, once, [(*c, 9)]) is None
    # Rows that gold has from these same changes, after a run that crashed.
    assert repeated(spark, once, [(5, "b", 102), (*b, 105), (*c, 9)]) is None
    assert repeated(spark, [*once, ("insert", None, a)], []) == 106
    assert repeated(spark, [*once, ("update", b, c)], [(*c, 9)]) == 106
