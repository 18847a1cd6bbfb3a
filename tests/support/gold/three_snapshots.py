"""A lake with three published snapshots, between which tables change in every way that gold has."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyspark.sql import SparkSession

import binlake
from decoder.constants import ColumnType
from decoder.model.definition import ColumnDefinition
from pipeline.bronze.files import write_files
from pipeline.lake import Lake
from pipeline.schema_history.alter.items import ColumnStep
from tests.support.bronze.bronze_rows import file_row
from tests.support.gold.made_lake import MadeLake
from tests.support.gold.vectors import give_deletion_vectors
from tests.support.silver.made_silver import (
    SOURCE,
    MadeTransaction as Tx,
    definition,
    item,
)

FILE = "binlog.000001"

ID = ColumnDefinition("id", ColumnType.LONG, nullable=False)
NAME = ColumnDefinition("name", ColumnType.VARCHAR, length=80, length_bytes=1, collation=255)
PRICE = ColumnDefinition("price", ColumnType.NEWDECIMAL, precision=10, scale=2)
AT = ColumnDefinition("at", ColumnType.DATETIME2)
SHAPE = ColumnDefinition("shape", ColumnType.GEOMETRY)
ITEMS = definition("items", ID, NAME, PRICE, AT, SHAPE)
ALTERED = definition("items", ID, replace(NAME, name="a.b ü"), PRICE, SHAPE)
STEPS = [ColumnStep(c.name, "name" if c.name == "a.b ü" else c.name) for c in ALTERED.columns]
ORDERS, GONE = definition("orders"), definition("gone")

POINT = {"srid": 4326, "wkb": b"\x01\x02"}
NOON = datetime(2024, 2, 29, 12, 0, 0, 123456)
TEA, PEN, CUP = (
    (1, "tea", Decimal("1.50"), NOON, POINT),
    (2, "pen", Decimal("2.00"), None, None),
    (3, "cup", None, NOON, None),
)
GREEN = (1, "green tea", Decimal("1.75"), NOON, POINT)
JAR = (4, "jar", Decimal("9.99"), None)
FIRST = {"shop.items": [TEA, PEN, CUP], "shop.gone": [(1, "x")]}
SECOND = {**FIRST, "shop.items": [GREEN, CUP], "shop.orders": [(7, "new")]}
THIRD = {
    **SECOND,
    "shop.items": [GREEN[:3] + GREEN[4:], CUP[:3] + CUP[4:], JAR],
    "shop.orders": [(7, "sent")],
}
"""The rows of each table at the second, third and fourth transaction."""


def lake_with_snapshots(spark: SparkSession, root: Path) -> MadeLake:
    """Return a lake with three snapshots: rows change, a column is renamed and another dropped."""
    made = MadeLake(spark, root)
    first = Tx(2).insert(GONE, 1, "x")
    for row in (TEA, PEN, CUP):
        first.insert(ITEMS, *row)
    made.silver.batch([first], [item("create", 2, table) for table in (ITEMS, ORDERS, GONE)])
    made.run()
    second = Tx(3).update(ITEMS, TEA, GREEN).delete(ITEMS, *PEN).insert(ORDERS, 7, "new")
    made.silver.batch([second])
    with pytest.MonkeyPatch.context() as patched:
        give_deletion_vectors(patched, table="items")
        made.run()
    third = Tx(4).insert(ALTERED, *JAR, version=2).update(ORDERS, (7, "new"), (7, "sent"))
    altered = item("alter", 4, ALTERED, 2, columns=STEPS)
    made.silver.batch([third, Tx(5)], [altered, item("drop", 5, GONE)])
    made.run()
    write_files(spark, Lake(made.root), SOURCE, [file_row(FILE, 1, source=SOURCE)], batch=1)
    return made


def arrow(frame: Any) -> pa.Table:
    """Return a frame of any engine as a table of Arrow."""
    if isinstance(frame, pa.Table):
        return frame
    return frame.to_arrow() if hasattr(frame, "to_arrow") else frame.toArrow()


def rows(snapshot: binlake.Snapshot[Any]) -> dict[str, list[tuple[Any, ...]]]:
    """Return the source's columns of every table, in key order."""
    found = {}
    for name, frame in snapshot.items():
        table = arrow(frame).sort_by("id")
        assert table.column_names[-2:] == ["__lsn", "__committed_at"]
        found[name] = [tuple(row.values())[:-2] for row in table.to_pylist()]
    return {name: found for name, found in found.items() if found}
