"""Random changes of a few rows, of tables with each type of key."""

from __future__ import annotations

from datetime import date, datetime, timezone
from decimal import Decimal
from functools import cache
from random import Random
from typing import Any, cast

import pyarrow as pa
from pyspark.sql import types as st
from pyspark.sql.conversion import LocalDataToArrowConversion

from pipeline.gold.changes.fold import Shape

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


def history(shape: Shape, seed: int, *, moves: bool = True) -> list[tuple[Any, ...]]:
    """Return changes of existing rows, in a random order of their own; `moves`: updates may change
    keys."""
    random = Random(seed)
    there: dict[Image, Image] = {}

    def key_of(row: Image) -> Image:
        return tuple(row[COLUMNS.index(name)] for name in shape.key)

    changes: list[tuple[Any, ...]] = []
    for n in range(60):
        place = (1 + n // 20, n % 20 // 4, n % 4)
        before = random.choice(list(there.values())) if there and random.random() < 0.7 else None
        after = image(random) if before is None or random.random() < 0.7 else None
        if before is not None and after is not None and not moves:
            after = tuple(
                (before if name in shape.key else after)[n] for n, name in enumerate(COLUMNS)
            )
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


@cache
def silver_type() -> st.StructType:
    """Return the type of changes in Spark; `SILVER` can only be read once Spark has started."""
    return cast(st.StructType, st.StructType.fromDDL(SILVER))


def silver_rows(changes: list[Any]) -> pa.Table:
    """Return the changes as Spark returns those that it reads."""
    return LocalDataToArrowConversion.convert(changes, silver_type(), use_large_var_types=False)
