"""Few changes are folded at the driver with the same result as in Spark."""

from __future__ import annotations

from dataclasses import replace
from datetime import date, datetime, timezone
from decimal import Decimal
from random import Random
from typing import Any

import pyarrow as pa
import pytest
from pyspark.sql import DataFrame, SparkSession, functions as sf

from pipeline.gold.changes.change_stats import extent
from pipeline.gold.changes.fold import Shape, fold
from pipeline.gold.changes.images import LeftOut
from pipeline.gold.changes.local_fold import can_fold, fold_here
from pipeline.gold.changes.small_batch import at_driver, local

IMAGE = (
    "struct<id: int, u: decimal(20,0), t: string, b: binary, day: date, at: timestamp,"
    " n: timestamp_ntz, yes: boolean, f: double, tags: array<string>, `a.``b`: string>"
)
SILVER = (
    "__op string, __lsn bigint, __pos bigint, __row int, __committed_at timestamp,"
    f" before {IMAGE}, after {IMAGE}, __absent_before array<string>,"
    " __absent_after array<string>, __json_diff map<string, string>"
)
COLUMNS = ("id", "u", "t", "b", "day", "at", "n", "yes", "f", "tags", "a.`b")
SHAPES = {
    "a number": Shape(COLUMNS, ("id",)),
    "an unsigned one": Shape(COLUMNS, ("u",)),
    "text": Shape(COLUMNS, ("t",)),
    "bytes": Shape(COLUMNS, ("b",)),
    "times": Shape(COLUMNS, ("at", "n", "day")),
    "a name with signs": Shape(COLUMNS, ("a.`b",)),
    "in another order": Shape(COLUMNS[::-1], ("t", "u", "id")),
}
Image = tuple[Any, ...]


def image(random: Random) -> Image:
    """Return an image with so few distinct values that keys repeat."""
    day = date(1969 + random.randrange(3), 12, 31)
    second = datetime(1970, 1, 1, 0, 0, random.randrange(3), 1)
    return (
        random.randrange(-2, 2),
        Decimal(2**64 - random.randrange(1, 4)),
        random.choice(["", "a", "A", "é", "\x00", "😀"]),
        random.choice([b"", b"\x00", b"\xff"]),
        day,
        second.replace(tzinfo=timezone.utc),
        second,
        random.choice([None, True, False]),
        random.choice([None, 0.0, -0.0, 1.5]),
        random.choice([None, [], ["x", "y"]]),
        random.choice(["p", "q"]),
    )


def history(shape: Shape, seed: int) -> list[tuple[Any, ...]]:
    """Return changes of existing rows, in a random order of their own."""
    random = Random(seed)
    there: dict[Image, Image] = {}

    def key_of(row: Image) -> Image:
        return tuple(row[COLUMNS.index(name)] for name in shape.key)

    changes: list[tuple[Any, ...]] = []
    for n in range(60):
        place = (1 + n // 20, n % 20 // 4, n % 4)
        before = random.choice(list(there.values())) if there and random.random() < 0.7 else None
        after = image(random) if before is None or random.random() < 0.7 else None
        others = there.keys() - ({key_of(before)} if before is not None else set())
        if after is not None and key_of(after) in others:
            continue
        if before is not None:
            del there[key_of(before)]
        if after is not None:
            there[key_of(after)] = after
        op = "insert" if before is None else "delete" if after is None else "update"
        at = datetime(2024, 1, place[0], tzinfo=timezone.utc)
        changes.append((op, *place, at, before, after, None, None, None))
    random.shuffle(changes)
    return changes


def rows_of(frame: DataFrame) -> list[str]:
    return sorted(str(row) for row in frame.collect())


def brought(changes: DataFrame) -> pa.Table:
    rows = at_driver(changes, 1000)
    assert rows is not None
    return rows


@pytest.mark.parametrize(
    ("row", "parts"), [("int", 1), ("bigint", 4)], ids=["logged", "cascaded, in parts"]
)
@pytest.mark.parametrize("name", SHAPES)
def test_folding_at_the_driver_equals_folding_in_spark(
    spark: SparkSession, name: str, row: str, parts: int
) -> None:
    shape = SHAPES[name]
    made = spark.createDataFrame(history(shape, len(name)), SILVER).repartition(parts)
    changes = made.withColumn("__row", sf.col("__row").cast(row))
    rows = brought(changes)
    assert can_fold(rows, changes.schema, shape)
    folded = fold_here(rows, changes.schema, shape)
    assert folded.extent == extent(changes, shape, LeftOut())
    assert folded.extent.key_changes > 0
    wanted = fold(changes, shape)
    here = local(spark, spark, folded.rows, folded.schema)
    assert here.columns == wanted.columns
    assert [f.dataType for f in here.schema] == [f.dataType for f in wanted.schema]
    assert rows_of(here) == rows_of(wanted)
    assert 2 <= folded.rows.num_rows < rows.num_rows


CHANGE = ("insert", 1, 0, 0, datetime(2024, 1, 1, tzinfo=timezone.utc), None, image(Random(0)))
WHOLE = Shape(COLUMNS, ("id",))


@pytest.mark.parametrize(
    ("shape", "left_out"),
    [
        (Shape(COLUMNS, ("f",)), (None, None, None)),  # 0.0 and -0.0 are one key
        (Shape(COLUMNS, ("yes",)), (None, None, None)),
        (replace(WHOLE, given=frozenset({"id"})), (None, None, None)),
        (replace(WHOLE, unique=False), (None, None, None)),
        (WHOLE, (["t"], None, None)),
        (WHOLE, (None, ["t"], None)),
        (WHOLE, (None, None, {"t": "[]"})),
    ],
    ids=["float", "boolean", "given", "not unique", "before", "after", "diff"],
)
def test_cases_that_cannot_be_folded_here_are_left_to_spark(
    spark: SparkSession, shape: Shape, left_out: tuple[Any, ...]
) -> None:
    changes = spark.createDataFrame([(*CHANGE, *left_out)], SILVER)
    assert not can_fold(brought(changes), changes.schema, shape)
