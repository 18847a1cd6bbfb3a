"""Keyless tables, compared with a Counter: the number of copies of each row."""

from __future__ import annotations

import math
import random
from collections import Counter
from datetime import datetime, timezone
from decimal import Decimal
from typing import Any, cast

import pyarrow as pa
import pytest
from deltalake import write_deltalake
from pyspark.sql import SparkSession, types as st

from pipeline.gold.changes.fold import Shape
from pipeline.gold.changes.images import LeftOut
from pipeline.gold.changes.keyless import apply_keyless
from pipeline.gold.table.gold_table import Write
from pipeline.gold.table.table_metadata import create_table
from pipeline.lake.delta_step import Step
from tests.support.lake.table_rows import read_table

IMAGE = "struct<`a.b`: int, copy: string, newest: double, m: decimal(5,2), v: array<float>>"
SILVER = (
    "__op string, __lsn bigint, __pos bigint, __row int, __committed_at timestamp,"
    " __absent_before array<string>, __absent_after array<string>,"
    f" __json_diff map<string, string>, before {IMAGE}, after {IMAGE}"
)
GOLD = (
    "`a.b` int, copy string, newest double, m decimal(5,2), v array<float>, __lsn bigint,"
    " __committed_at timestamp"
)
SHAPE = Shape(("a.b", "copy", "newest", "m", "v"), ())
AT = datetime(2024, 2, 29, 12, tzinfo=timezone.utc)
ONE = (1, "x", 0.5, Decimal("1.50"), (1.0,))
ROWS: list[tuple[Any, ...]] = [
    ONE,
    (1, "X", 0.5, Decimal("1.50"), (1.0,)),
    (None, None, None, None, None),
    (1, None, None, None, None),
    (1, "", 0.0, Decimal("0.00"), ()),
    (1, "", -0.0, Decimal("0.00"), ()),
    (1, "", math.nan, Decimal("0.00"), (-0.0,)),
    (1, "", math.nan, Decimal("0.00"), (0.0,)),
]
Change = tuple[str, tuple[Any, ...] | None, tuple[Any, ...] | None]


def as_text(row: tuple[Any, ...]) -> str:
    """Return a row as text that differs for all rows that are not equal."""
    return repr((*row[:4], None if row[4] is None else list(row[4])))


class Keyless:
    """A keyless gold table, and its expected content."""

    def __init__(self, spark: SparkSession, path: str) -> None:
        self.spark, self.path, self.steps = spark, path, 0
        self.expected: Counter[str] = Counter()
        create_table(spark, path, cast(st.StructType, st.StructType.fromDDL(GOLD)), (), {})

    def fill(self, rows: list[tuple[Any, ...]]) -> None:
        """Add rows without Spark."""
        self.expected.update(map(as_text, rows))
        schema = read_table(self.path)[1].schema
        added = [
            dict(zip(schema.names, (*row, lsn, AT), strict=True)) for lsn, row in enumerate(rows)
        ]
        write_deltalake(self.path, pa.Table.from_pylist(added, schema), mode="append")

    def put(self, changes: list[Change], again: bool = False) -> None:
        """Apply changes as a step, or repeat the previous step."""
        if not again:
            self.steps += 1
            for _, before, after in changes:
                if before is not None:
                    self.expected[as_text(before)] -= 1
                if after is not None:
                    self.expected[as_text(after)] += 1
        rows = [
            (op, 100 * self.steps + n, 4, 0, AT, None, None, None, before, after)
            for n, (op, before, after) in enumerate(changes)
        ]
        write = Write(self.path, Step("keyless", self.steps))
        apply_keyless(self.spark, self.spark.createDataFrame(rows, SILVER), SHAPE, write, LeftOut())

    def rows(self) -> list[tuple[Any, ...]]:
        return [tuple(row.values()) for row in read_table(self.path)[1].to_pylist()]

    def lsns(self, row: tuple[Any, ...]) -> list[int]:
        """Return the LSNs of a row's copies."""
        return sorted(one[5] for one in self.rows() if as_text(one[:5]) == as_text(row))

    def check(self) -> None:
        assert Counter(as_text(row[:5]) for row in self.rows()) == +self.expected


@pytest.fixture
def keyless(spark: SparkSession, tmp_path: Any) -> Keyless:
    return Keyless(spark, str(tmp_path / "keyless"))


def test_repeated_steps_do_not_change_copy_counts(keyless: Keyless) -> None:
    """Of deleted copies, the newest go first."""
    first: list[Change] = [("insert", None, row) for row in (ONE, ONE, ONE, *ROWS[2:4], ROWS[2])]
    second: list[Change] = [
        ("delete", ONE, None),
        ("update", ROWS[2], ROWS[5]),
        ("insert", None, ROWS[4]),
        ("insert", None, ROWS[3]),
    ]
    keyless.put(first)
    keyless.check()
    for again in (False, True):
        keyless.put(second, again=again)
        keyless.check()
    assert keyless.lsns(ROWS[3]) == [104, 203]
    deletes: list[Change] = [("delete", row, None) for row in (ROWS[5], ROWS[2], ROWS[3])]
    keyless.put([*deletes, ("update", ONE, ONE)])
    keyless.check()
    assert keyless.lsns(ROWS[3]) == [104]


def test_random_changes(keyless: Keyless) -> None:
    chance = random.Random(5)
    there = chance.choices(ROWS, k=30)
    keyless.fill(there)
    changes: list[Change] = []
    for _ in range(60):
        before = there.pop(chance.randrange(len(there))) if there else None
        kind = chance.choice(["insert", "update", "delete", "insert"])
        if before is None or kind == "insert":
            there += [before] if before else []
            before = None
        after = None if before and kind == "delete" else chance.choice(ROWS)
        there += [after] if after else []
        op = "insert" if before is None else "delete" if after is None else "update"
        changes.append((op, before, after))
    keyless.put(changes)
    keyless.check()
