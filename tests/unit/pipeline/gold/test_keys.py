"""Keys that the source does not vouch for: what is refused of them."""

from __future__ import annotations

from datetime import datetime, timezone
from typing import Any

import pytest
from pyspark.sql import SparkSession

from decoder.constants import ColumnType
from decoder.definition import ColumnDefinition, TableDefinition
from decoder.options import TypeOptions
from pipeline.gold.fold import Shape
from pipeline.gold.images import LeftOut
from pipeline.gold.keys import first_repeated, key_refusal

DAY = ColumnDefinition("day", ColumnType.DATE)
COLUMNS = (
    ColumnDefinition("id", ColumnType.LONG, nullable=False),
    DAY,
    ColumnDefinition("at", ColumnType.DATETIME2, nullable=False),
    ColumnDefinition("kind", ColumnType.ENUM, labels=("a", "b")),
    ColumnDefinition("empty", ColumnType.ENUM, labels=("a", "")),
    ColumnDefinition("none", ColumnType.SET, labels=("", "a")),
)
NULLS, TEXT = TypeOptions(), TypeOptions(zero_dates="string")


@pytest.mark.parametrize(
    ("key", "own", "types", "refused"),
    [
        (("id",), (0,), NULLS, None),
        (("id", "kind"), (0,), NULLS, None),
        (("id", "empty"), (0, 4), NULLS, "its key has empty, of a type with an empty label"),
        (("id", "none"), (0, 5), NULLS, "its key has none, of a type with an empty label"),
        (("day",), (0,), NULLS, "its key has day, which may be NULL, and a zero date is NULL too"),
        (("day",), (0,), TEXT, None),
        # A zero date in a key of the source's own is a fault of its row.
        (("day",), (1,), NULLS, None),
        # Where no NULL can be, one is told when it comes.
        (("at",), (0,), NULLS, None),
    ],
)
def test_keys_in_which_two_values_look_alike(
    key: tuple[str, ...], own: tuple[int, ...], types: TypeOptions, refused: str | None
) -> None:
    definition = TableDefinition("s", "t", COLUMNS, own, (0,) * len(own))
    found = key_refusal(definition, key, types)
    assert found is None if refused is None else (found or "").startswith(refused)


IMAGE = "struct<id: int, k: string>"
SILVER = (
    "__op string, __lsn bigint, __pos bigint, __row int, __committed_at timestamp,"
    " __absent_before array<string>, __absent_after array<string>,"
    f" __json_diff map<string, string>, before {IMAGE}, after {IMAGE}"
)
AT = datetime(2024, 2, 29, 12, tzinfo=timezone.utc)
Change = tuple[str, Any, Any]


def repeated(spark: SparkSession, changes: list[Change], gold: list[tuple[Any, ...]]) -> int | None:
    """Of changes at the LSNs 100, 101, …, the first that brings a row where one is."""
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
    # Rows that gold has from these changes themselves, in a run that died.
    assert repeated(spark, once, [(5, "b", 102), (*b, 105), (*c, 9)]) is None
    assert repeated(spark, [*once, ("insert", None, a)], []) == 106
    assert repeated(spark, [*once, ("update", b, c)], [(*c, 9)]) == 106
