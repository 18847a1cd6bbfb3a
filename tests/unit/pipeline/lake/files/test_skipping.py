"""Lookups find every row that matches a condition, whatever statistics its file has."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pytest

from pipeline.lake import Lake
from pipeline.lake.delta_log.conditions import (
    ALL_ROWS,
    Condition,
    among,
    compare,
    equal,
    matches,
    missing,
    only_one,
)
from pipeline.lake.delta_log.model import LakeTable
from pipeline.lake.delta_step import Step
from pipeline.lake.files.table_scan import scan
from pipeline.lake.tables.native import NativeTables
from pipeline.lake.tables.tables import FILE
from tests.support.lake.counted_rows import counted_table

SCHEMA = pa.schema(
    [
        pa.field("part", pa.string()),
        pa.field("n", pa.int64()),
        pa.field("text", pa.string()),
        pa.field("names", pa.list_(pa.string())),
    ]
)
ROWS = [
    {"part": "a b", "n": 1, "text": "one", "names": ["x"]},
    {"part": "a b", "n": None, "text": "two", "names": ["x", "y"]},
    {"part": None, "n": 7, "text": None, "names": None},
]


@pytest.fixture(scope="module")
def tables(tmp_path_factory: pytest.TempPathFactory) -> NativeTables:
    return NativeTables(Lake(str(tmp_path_factory.mktemp("lake"))))


@pytest.fixture(scope="module")
def table(tables: NativeTables) -> LakeTable:
    """A table with statistics of `n` only, and a file for each part."""
    made = LakeTable(f"{tables.lake.root}/t", SCHEMA, ("part",), ("n",))
    tables.append(made, pa.Table.from_pylist(ROWS, schema=SCHEMA), Step("made", 1))
    return made


@pytest.mark.parametrize(
    ("where", "found"),
    [
        (equal("text", "two"), [1]),
        (equal("n", 1), [0]),
        (missing("n"), [1]),
        (missing("text"), [2]),
        (missing("part"), [2]),
        (equal("part", "a b"), [0, 1]),
        (among("n", [1, 7]), [0, 2]),
        (compare("n", ">", 1), [2]),
        (~equal("text", "one"), [1]),
        (only_one("names", ["x"]), [0]),
        (matches("text", r"(?i)\bTWO\b"), [1]),
    ],
    ids=lambda value: value.sql if isinstance(value, Condition) else "",
)
def test_a_condition_finds_its_rows(
    tables: NativeTables, table: LakeTable, where: Condition, found: list[int]
) -> None:
    rows = tables.read(table, where).to_pylist()
    key = [row["text"] for row in ROWS].index
    assert sorted(key(row["text"]) for row in rows) == found


def test_files_that_statistics_exclude_are_skipped(tables: NativeTables, table: LakeTable) -> None:
    opened = tables._opened(table)
    assert opened is not None
    files = scan(table, opened, {}).dataset
    assert len(list(files.get_fragments())) == 2
    assert len(list(files.get_fragments(filter=equal("n", 7).expression))) == 1
    assert len(list(files.get_fragments(filter=equal("part", "a b").expression))) == 1
    assert not list(files.get_fragments(filter=equal("n", 9).expression))


def test_each_row_has_the_name_of_its_file(tables: NativeTables, table: LakeTable) -> None:
    rows = tables.read(table, columns=["text"], with_file=True)
    assert rows.column_names == ["text", FILE]
    names = set(rows.column(FILE).to_pylist())
    assert names == {path.name for path in Path(table.reference).rglob("*.parquet")}
    nowhere = LakeTable(f"{tables.lake.root}/none", SCHEMA)
    assert tables.read(nowhere, columns=["n"], with_file=True).column_names == ["n", FILE]


@pytest.fixture(scope="module")
def counted(tables: NativeTables) -> LakeTable:
    return counted_table(tables)


def test_the_last_rows_of_partitions_are_found(tables: NativeTables, table: LakeTable) -> None:
    for where, found in ((ALL_ROWS, ["one"]), (~equal("part", "a b"), [])):
        rows = tables.last(table, "n", ("part",), 1, where)
        assert rows.column("text").to_pylist() == found


def test_of_single_row_files_only_matching_ones_are_opened(
    tables: NativeTables, counted: LakeTable
) -> None:
    opened = tables._opened(counted)
    assert opened is not None
    scans = {where: scan(counted, opened, {}, where) for where in (equal("of", "c"), ALL_ROWS)}
    assert [len(list(files.dataset.get_fragments())) for files in scans.values()] == [2, 5]
