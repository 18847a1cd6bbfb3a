"""ALTERs that convert values which only gold has and which do not fit the new type."""

from __future__ import annotations

from datetime import date, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from decoder import TableDefinition
from decoder.constants import ColumnType as T
from decoder.model.definition import ColumnDefinition
from pipeline.lake import Lake, delta
from pipeline.run import read_status
from pipeline.schema_history.alter.items import ColumnStep
from tests.support.gold.made_lake import MadeLake
from tests.support.silver.made_silver import MadeTransaction as Tx, definition, item, lsn

ID = definition().columns[0]
WIDE = (
    ColumnDefinition("text", T.VARCHAR, length=80, length_bytes=1, collation=255),
    ColumnDefinition("n", T.LONG),
    ColumnDefinition("d", T.NEWDECIMAL, precision=10, scale=2),
    ColumnDefinition("label", T.VARCHAR, length=80, length_bytes=1, collation=255),
    ColumnDefinition("day", T.DATE),
    ColumnDefinition("at", T.VARCHAR, length=80, length_bytes=1, collation=255),
)
NARROW = (
    ColumnDefinition("text", T.LONG),
    ColumnDefinition("n", T.TINY),
    ColumnDefinition("d", T.NEWDECIMAL, precision=4, scale=1),
    ColumnDefinition("label", T.ENUM, length=1, labels=("a", "ü")),
    ColumnDefinition("day", T.VARCHAR, length=80, length_bytes=1, collation=255),
    ColumnDefinition("at", T.DATETIME2, fraction=1),
)
HOW = ("number", "cast", "rounded", 'label:["a", "ü"]', "printed:10", "parsed:21")
STEPS = tuple(
    ColumnStep(c.name, c.name, how) for c, how in zip((ID, *WIDE), (None, *HOW), strict=True)
)
DAY = date(1600, 2, 29)
TIMES = ("ü ", DAY, "1600-02-29 12:34:56.7")
FITS = (1, "7", 100, Decimal("12.25"), *TIMES)
FITTED = (1, 7, 100, Decimal("12.3"), "ü", "1600-02-29", datetime(1600, 2, 29, 12, 34, 56, 700_000))
NEW = (3, 3, 3, Decimal("12.3"), "a", "x", None)


def wide(name: str) -> TableDefinition:
    return definition(name, ID, *WIDE)


def narrow(name: str) -> TableDefinition:
    return definition(name, ID, *NARROW)


MISFITS: dict[str, tuple[Any, ...]] = {
    "by_text": (2, "x", 1, Decimal(1), *TIMES),
    "by_number": (2, "1", 300, Decimal(1), *TIMES),
    "by_decimal": (2, "1", 1, Decimal(99999), *TIMES),
    # may match a label by collation, or be an index
    "by_label": (2, "1", 1, Decimal(1), "A", *TIMES[1:]),
    # may be a zero date
    "by_day": (2, "1", 1, Decimal(1), "a", None, TIMES[2]),
    "by_digits": (2, "1", 1, Decimal(1), *TIMES[:2], "1600-02-29 12:34:56.75"),
    "by_time": (2, "1", 1, Decimal(1), *TIMES[:2], "1600-02-30"),
    "by_year": (2, "1", 1, Decimal(1), *TIMES[:2], "0000-01-01"),
}


def rows(lake: MadeLake, table: str) -> list[tuple[Any, ...]]:
    frame = delta.read(lake.spark, Lake(lake.root).gold("shop", table))
    return sorted(tuple(row)[:-2] for row in frame.collect())


@pytest.mark.long
def test_unfit_values_hold_an_unmarked_table_and_are_null_in_a_marked_one(
    spark: SparkSession, tmp_path: Path
) -> None:
    lake = MadeLake(spark, tmp_path)
    names = ("fits", "marked", "emptied", *MISFITS)
    first = Tx(1)
    for name in names:
        first.insert(wide(name), *FITS)
    for name, row in MISFITS.items():
        first.insert(wide(name), *row)
        first.insert(wide("marked"), len(first.rows), *row[1:])
    first.insert(wide("emptied"), *MISFITS["by_text"])
    # A statement that gold cannot apply has changed `marked` before its columns change.
    lake.silver.batch(
        [first],
        [item("create", 1, wide(name)) for name in names],
        faults=[(2, ["shop.marked"])],
        last=2,
    )
    lake.run(on_fault="mark")
    lake.silver.batch(
        [
            Tx(3).delete(wide("emptied"), *MISFITS["by_text"]),
            Tx(6).insert(narrow("fits"), *NEW, version=2),
        ],
        [
            *(item("alter", 4, narrow(name), 2, columns=STEPS) for name in names),
            item("truncate", 5, wide("emptied")),
        ],
    )
    faults = lake.run(on_fault="mark").faults
    (summary,) = faults
    assert summary.startswith(f"{len(MISFITS)} tables are held, shop.by_day, shop.by_decimal, ")
    assert f"The first at file number 1, position {lsn(4) % (1 << 40)}" in summary
    status = read_status(spark, lake.settings()).tables
    held = {table.table: table.reason or "" for table in status if table.held}
    assert held.keys() == MISFITS.keys()
    for reason in held.values():
        assert reason.startswith(f"file number 1, position {lsn(4) % (1 << 40)}: a value in")
    assert lake.run(on_fault="mark").faults == faults
    for name, row in MISFITS.items():
        assert rows(lake, name) == [FITS, row]
    assert rows(lake, "fits") == [FITTED, NEW]
    assert rows(lake, "emptied") == []
    marked = [row[1:] for row in rows(lake, "marked")]
    times = FITTED[4:]
    assert marked == [
        FITTED[1:],
        (None, 1, Decimal(1), *times),
        (1, None, Decimal(1), *times),
        (1, 1, None, *times),
        (1, 1, Decimal(1), None, *times[1:]),
        (1, 1, Decimal(1), "a", None, times[2]),
        *[(1, 1, Decimal(1), *times[:2], None)] * 3,
    ]
