"""Statistics of a part's changes, which decide how they are applied."""

from __future__ import annotations

from datetime import date
from decimal import Decimal
from typing import Any

from pyspark.sql import DataFrame, SparkSession

from pipeline.gold.changes.change_stats import ChangeStats, change_stats, within
from pipeline.gold.changes.fold import Shape
from pipeline.gold.changes.images import LeftOut

IMAGE = "struct<id: bigint, day: date, b: binary, `x.y`: string>"
SILVER = (
    "__op string, __lsn bigint, __absent_before array<string>, __absent_after array<string>,"
    f" __json_diff map<string, string>, before {IMAGE}, after {IMAGE}"
)
DAY = date(2024, 2, 29)


def silver(spark: SparkSession, rows: list[tuple[Any, ...]]) -> DataFrame:
    changes = [
        (op, 100 + n, absent, None, None, before, after)
        for n, (op, before, after, absent) in enumerate(rows)
    ]
    return spark.createDataFrame(changes, SILVER)


def test_key_ranges_cover_both_images(spark: SparkSession) -> None:
    changes = silver(
        spark,
        [
            ("insert", None, (5, DAY, b"a", "k"), None),
            ("update", (7, DAY, b"a", "m"), (9, DAY, b"a", "m"), None),
            ("update", (6, DAY, b"a", "m"), (6, DAY, b"b", "z"), None),
            ("delete", (2, DAY, b"a", "c"), None, ["day"]),
        ],
    )
    shape = Shape(("id", "day", "b", "x.y"), ("id", "b", "x.y"))
    found = change_stats(changes, shape, LeftOut())
    assert found == ChangeStats(4, 1, 2, 1, ranges={"id": (2, 9), "x.y": ("c", "z")})
    assert not found.only_inserts


def test_a_key_that_may_be_null_has_no_range(spark: SparkSession) -> None:
    changes = silver(spark, [("insert", None, (5, DAY, b"a", None), None)])
    found = change_stats(
        changes, Shape(("id", "x.y"), ("id", "x.y"), frozenset({"x.y"})), LeftOut()
    )
    assert found.ranges == {"id": (5, 5)}
    assert found.only_inserts


def test_range_conditions_match_exactly_the_keys_in_range(spark: SparkSession) -> None:
    rows = spark.createDataFrame(
        [(Decimal(n), DAY, name) for n in range(5) for name in ("a", "b'`c", "é")],
        "id decimal(20,0), day date, `x.y` string",
    )
    found = ChangeStats(1, ranges={"id": (1, 3), "day": (DAY, DAY), "x.y": ("b", "é")})
    kept = rows
    for limit in within(found, rows.schema):
        kept = kept.where(limit)
    keys = {(int(row["id"]), row["x.y"]) for row in kept.collect()}
    assert keys == {(n, name) for n in (1, 2, 3) for name in ("b'`c", "é")}
