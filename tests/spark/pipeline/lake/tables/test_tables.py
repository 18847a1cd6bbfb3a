"""The contract of `Tables`, for delta-rs, for Spark, and for Spark with a catalog."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass, replace
from datetime import date, datetime, timezone
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from pipeline.lake import Lake
from pipeline.lake.delta_log.conditions import compare, equal, missing
from pipeline.lake.delta_log.model import LakeTable
from pipeline.lake.delta_step import Step
from pipeline.lake.files.data_files import write_rows
from pipeline.lake.tables.by_spark import SparkTables
from pipeline.lake.tables.native import NativeTables
from pipeline.lake.tables.tables import NewValue, Tables, constant

SCHEMA = pa.schema([("source", pa.string()), ("n", pa.int64()), ("k", pa.int32())])
NAMESPACE = "`spark_catalog`.`lake_tables_test`"


@dataclass(frozen=True)
class Place:
    """One implementation of a lake's tables."""

    tables: Tables

    def table(self, name: str, schema: pa.Schema = SCHEMA, **others: Any) -> LakeTable:
        lake = self.tables.lake
        name = f"{lake.namespace}.`{name}`" if lake.namespace else f"{lake.root}/a b!C3/{name}"
        return LakeTable(name, schema, **others)


def opened(request: pytest.FixtureRequest, root: Path) -> Place:
    """Return the place of a fixture's parameter."""
    if request.param == "native":
        return Place(NativeTables(Lake(str(root))))
    namespace = NAMESPACE if request.param == "catalog" else None
    return Place(SparkTables(request.getfixturevalue("spark"), Lake(str(root), namespace)))


@pytest.fixture(scope="module", params=["native", "catalog"])
def named_place(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Place]:
    """Return a place whose tables have names if they are by Spark."""
    made = opened(request, tmp_path_factory.mktemp("lake"))
    yield made
    if isinstance(made.tables, SparkTables):
        made.tables.spark.sql(f"DROP DATABASE IF EXISTS {NAMESPACE} CASCADE")


@pytest.fixture(scope="module", params=["native", "spark"])
def folder_place(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Place:
    """Return a place without a catalog, for what does not depend on how a table is named."""
    return opened(request, tmp_path_factory.mktemp("lake"))


def rows(*numbers: int | None, source: str | None = "s", k: int | None = 0) -> pa.Table:
    given = [{"source": source, "n": number, "k": k} for number in numbers]
    return pa.Table.from_pylist(given, schema=SCHEMA)


def stored(place: Place, table: LakeTable) -> list[int | None]:
    """Return the numbers in a folder's table as delta-rs reads them."""
    found = NativeTables(place.tables.lake).read(table, columns=["n"])
    return sorted(found.column("n").to_pylist(), key=lambda number: (number is None, number))


def test_a_step_is_done_once_and_versions_only_grow(named_place: Place) -> None:
    tables, table = named_place.tables, named_place.table("steps")
    assert not tables.exists(table)
    assert tables.read(table) == SCHEMA.empty_table()
    assert tables.read(table, equal("n", 1), ["k"]).schema.names == ["k"]
    assert list(tables.history(table, 5)) == []
    assert tables.append(table, rows(1), Step("a", 5))
    tables.append(table, rows(1), Step("a", 5))
    tables.append(table, rows(2), Step("a", 4))
    assert tables.append(table, rows(3), Step("b", 4))
    assert tables.exists(table)
    for _ in range(2):
        assert tables.append(table, rows(7), None)
    assert not tables.append(table, rows(), Step("c", 1))
    history = tables.history(table, 2)
    assert [commit.version for commit in history] == [3, 2]
    assert tables.read(table).sort_by("n") == rows(1, 3, 7, 7)


def test_a_claimed_step_is_done_for_a_late_run(folder_place: Place) -> None:
    tables, table = folder_place.tables, folder_place.table("claimed")
    for version in (1, 2):  # the first creates the table
        assert tables.claim(table, Step("a", version))
        tables.append(table, rows(version), Step("a", version))
    assert stored(folder_place, table) == []
    assert tables.append(table, rows(3), Step("a", 3))
    assert stored(folder_place, table) == [3]


def test_files_of_tasks_are_added_with_remaining_rows(folder_place: Place) -> None:
    """They are removed from the scratch space, also by a step that is already done."""
    tables = folder_place.tables
    table = folder_place.table("files", partition_by=("source",), statistics=("n",))
    for _ in range(2):
        folder = tables.folder(table)
        written = [
            file
            for part in (rows(1, None), rows(3, source=None), rows(4, source="a b/%é"))
            for file in write_rows(folder, table, part)
        ]
        tables.append(table, rows(5), Step("a", 1), written)
        assert folder == table.reference or not Path(folder).exists()
    found = tables.read(table).sort_by("n").to_pylist()
    assert [(row["source"], row["n"]) for row in found] == [
        ("s", 1), (None, 3), ("a b/%é", 4), ("s", 5), ("s", None),
    ]  # fmt: skip
    for where, n in ((equal("source", "a b/%é"), 4), (missing("source"), 3)):
        assert tables.read(table, where, ["n"]).column("n").to_pylist() == [n]
    tables.append(table, rows(6), Step("a", 2))
    tables.append(table, None, Step("a", 3))
    assert len(stored(folder_place, table)) == 6


def test_rows_are_replaced_as_one_step(folder_place: Place) -> None:
    tables = folder_place.tables
    table = folder_place.table("replaced", partition_by=("source",))
    mine = equal("source", "s")
    assert tables.replace(table, mine, rows(1, 2), Step("a", 1))
    tables.append(table, rows(9, source="other"), Step("b", 1))
    assert tables.replace(table, mine, rows(3), Step("a", 2))
    tables.replace(table, mine, rows(4), Step("a", 1))
    assert stored(folder_place, table) == [3, 9]
    assert tables.replace(table, mine, rows(), Step("a", 3))
    assert stored(folder_place, table) == [9]


def test_rows_are_deleted_except_those_that_nulls_leave_unknown(folder_place: Place) -> None:
    """The history has the number of deleted rows."""
    tables, table = folder_place.tables, folder_place.table("deleted", statistics=("n",))
    assert not tables.delete(table, compare("n", "<", 3), Step("d", 1))
    assert not tables.exists(table)
    tables.append(table, rows(1, 2, 3, None), Step("a", 1))
    tables.append(table, rows(1), Step("a", 2))
    assert tables.count(table, compare("n", "<", 3)) == 3
    low = compare("n", "<", 3) & ~equal("n", 2)
    assert tables.delete(table, low, Step("d", 1, "upkeep 1"))
    assert stored(folder_place, table) == [2, 3, None]
    tables.delete(table, equal("n", 3), Step("d", 1))
    assert not tables.delete(table, equal("n", 50), Step("d", 2, "upkeep 2"))
    assert stored(folder_place, table) == [2, 3, None]
    last, *_, first = tables.history(table, None)
    assert (last.operation, last.note, last.metrics["numDeletedRows"]) == (
        "DELETE",
        "upkeep 1",
        "2",
    )
    assert (first.note, first.at <= last.at) == (None, True)
    tables.delete(table, missing("n"), Step("d", 3))
    assert stored(folder_place, table) == [2, 3]


def test_rows_are_updated_from_their_values_before(folder_place: Place) -> None:
    tables, table = folder_place.tables, folder_place.table("changed", partition_by=("source",))
    assert not tables.update(table, equal("n", 1), [constant("k", 1)], Step("u", 1))
    assert not tables.exists(table)
    tables.append(table, rows(1, 2, None), Step("a", 1))
    tables.append(table, rows(2, source="other"), Step("a", 2))
    swap = [
        NewValue("n", "k", lambda rows: rows.column("k")),
        NewValue("k", "CAST(n AS INT)", lambda rows: rows.column("n")),
    ]
    assert tables.update(table, equal("n", 2), swap, Step("u", 1))
    tables.update(table, equal("n", 0), swap, Step("u", 1))
    tables.update(table, compare("n", "<=", 1), [constant("k", 9)], Step("u", 2))
    tables.update(table, equal("n", 50), swap, Step("u", 3))
    found = [tuple(row.values()) for row in tables.read(table).to_pylist()]
    assert sorted(found, key=repr) == [
        ("other", 0, 9), ("s", 0, 9), ("s", 1, 9), ("s", None, 0),
    ]  # fmt: skip


def test_a_cleared_table_may_get_other_columns_twice(named_place: Place) -> None:
    """As for silver's after a full refresh: first only the columns before the images, then all.

    The removed files are kept until they are old.
    """
    tables, table = named_place.tables, named_place.table("cleared")
    tables.append(table, rows(1, 2), Step("a", 1))
    narrow = replace(table, schema=pa.schema([("source", pa.string()), ("n", pa.int64())]))
    assert tables.clear(narrow, Step("c", 1))
    image = pa.struct([("at", pa.timestamp("us")), ("d", pa.decimal128(38, 3))])
    wide = replace(narrow, schema=narrow.schema.append(pa.field("after", image)))
    assert tables.read(wide) == wide.schema.empty_table()
    row = {"source": "s", "n": 5, "after": {"at": datetime(1969, 1, 1), "d": Decimal("-1.5")}}
    given = pa.Table.from_pylist([row], schema=wide.schema)
    assert tables.append(wide, given, Step("a", 2))
    tables.clear(narrow, Step("c", 1))
    assert tables.read(wide) == given
    tables.compact(wide, "upkeep 1")
    tables.clear(wide, Step("c", 2))
    assert tables.read(wide) == wide.schema.empty_table()
    assert not tables.vacuum(wide, "upkeep 2")
    (last,) = tables.history(wide, 1)
    assert not last.operation.startswith("VACUUM")


def test_small_files_are_compacted_and_old_uncommitted_ones_removed(folder_place: Place) -> None:
    """The history records both."""
    tables = folder_place.tables
    table = folder_place.table("crowded", partition_by=("source",), statistics=("n",))
    assert (tables.state(table), tables.old_files(table)) == (None, 0)
    assert not tables.compact(table, "none")
    assert not tables.vacuum(table, "none")
    for number in (3, 1):  # a file for each partition
        both = [rows(number), rows(number, source="other")]
        tables.append(table, pa.concat_tables(both), None)
    tables.append(table, rows(9, source=None), None)
    state = tables.state(table)
    assert state is not None
    assert (state.files, state.rows in (5, None), state.bytes > 1000) == (5, True, True)

    assert tables.compact(table, "upkeep 1")
    after = tables.state(table)
    assert after is not None
    assert (after.id, after.files) == (state.id, 3)
    assert tables.read(table, equal("n", 3), ["k"]).num_rows == 2
    (last,) = tables.history(table, 1)
    assert (last.operation, last.note) == ("OPTIMIZE", "upkeep 1")
    assert (last.metrics["numRemovedFiles"], last.metrics["numAddedFiles"]) == ("4", "2")
    tables.compact(table, "upkeep 2")

    folder = table.reference
    old, young = (
        Path(folder, write_rows(folder, replace(table, reference=folder), rows(n))[0].name)
        for n in (2, 3)
    )
    age = 8 * 24 * 3600
    os.utime(old, (old.stat().st_atime, old.stat().st_mtime - age))
    assert tables.old_files(table) == 1
    assert tables.vacuum(table, "upkeep 3")
    assert (old.exists(), young.exists()) == (False, True)
    end, begin, before = tables.history(table, 3)
    assert (begin.operation, end.operation) == ("VACUUM START", "VACUUM END")
    assert {begin.note, end.note} == {"upkeep 3"}
    assert end.metrics["numDeletedFiles"] == "1"
    assert int(begin.metrics["sizeOfDataToDelete"]) > 100
    assert before == last  # the second compaction had nothing to do
    by = [("source", "ascending"), ("n", "ascending")]
    parts = [rows(1, 3, source="other"), rows(1, 3), rows(9, source=None)]
    assert tables.read(table).sort_by(by) == pa.concat_tables(parts)


TYPES = pa.schema(
    [
        ("part", pa.string()),
        ("b", pa.bool_()),
        ("i8", pa.int8()),
        ("i16", pa.int16()),
        ("f", pa.float32()),
        ("g", pa.float64()),
        ("d9", pa.decimal128(9, 2)),
        ("d18", pa.decimal128(18, 0)),
        ("d38", pa.decimal128(38, 30)),
        ("s", pa.string()),
        ("x", pa.binary()),
        ("day", pa.date32()),
        ("wall", pa.timestamp("us")),
        ("instant", pa.timestamp("us", "UTC")),
        ("texts", pa.list_(pa.string())),
        ("by", pa.map_(pa.string(), pa.string())),
        ("deep", pa.struct([("in", pa.struct([("at", pa.timestamp("us")), ("v", pa.int16())]))])),
        ("floats", pa.list_(pa.float32())),
        ("structs", pa.list_(pa.struct([("a", pa.string()), ("t", pa.timestamp("us", "UTC"))]))),
    ]
)
WALL = datetime(1000, 1, 1, 0, 0, 0, 1)
INSTANT = datetime(2038, 1, 19, 3, 14, 7, 999_999, timezone.utc)
VALUES = (
    "p", True, -128, 32767, 0.1, -1e308, Decimal("-9999999.99"), Decimal(10**18 - 1),
    Decimal("-99999999.999999999999999999999999999999"), "ü\0€", b"\xff\0" * 9, date(9999, 12, 31),
    WALL, INSTANT, ["a", None], [("k", None), ("", "v")], {"in": {"at": WALL, "v": 1}}, [1.5, None],
    [{"a": None, "t": INSTANT}, None],
)  # fmt: skip


def test_every_type_survives_a_round_trip(folder_place: Place) -> None:
    """In a table that is created without rows and with its properties."""
    tables = folder_place.tables
    properties = {"delta.checkpointInterval": "7"}
    table = folder_place.table("types", TYPES, partition_by=("part",), properties=properties)
    assert tables.append(table, TYPES.empty_table(), Step("a", 1))
    state = tables.state(table)
    assert state is not None
    assert (state.files, state.properties.items() >= properties.items()) == (0, True)
    given = pa.Table.from_pylist(
        [dict(zip(TYPES.names, VALUES, strict=True)), dict.fromkeys(TYPES.names)], schema=TYPES
    )
    tables.append(table, given, Step("a", 2), write_rows(tables.folder(table), table, given))
    assert tables.read(table).sort_by("i8") == pa.concat_tables([given] * 2).sort_by("i8")
