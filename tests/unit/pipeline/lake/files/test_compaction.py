"""Compaction of files: their sizes and order, and the table's unchanged rows."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from pipeline.lake import Ledger
from pipeline.lake.delta_log.conditions import ALL_ROWS, equal
from pipeline.lake.delta_log.model import LakeTable
from pipeline.lake.delta_step import Step
from pipeline.lake.files import compaction
from pipeline.lake.ledger.ledger_table import batches
from pipeline.lake.tables.native import NativeTables
from tests.support.lake.native_rows import SCHEMA, numbers, paths, rows


def parquet(table: LakeTable) -> pq.FileMetaData:
    (path,) = paths(table)
    return pq.read_metadata(Path(table.reference, path))


def test_compaction_orders_files_by_statistics_and_changes_no_row(
    tables: NativeTables, table: LakeTable
) -> None:
    for batch, number in enumerate((5, 3, 9, 1)):
        tables.append(table, rows(number, number + 10), Step("a", batch))
    assert tables.compact(table, "upkeep")
    (path,) = paths(table)
    written = pq.read_table(Path(table.reference, path))
    assert written.column("n").to_pylist() == [1, 11, 3, 13, 5, 15, 9, 19]
    group = parquet(table).row_group(0)
    assert (group.column(1).compression, group.column(1).statistics.min) == ("ZSTD", 1)
    log = Path(table.reference, "_delta_log", f"{4:020}.json").read_text().splitlines()
    actions = [next(iter(json.loads(line).items())) for line in log]
    changed = {action["dataChange"] for kind, action in actions if kind in ("add", "remove")}
    assert changed == {False}
    # A committed step stays committed.
    assert not tables.append(table, rows(5), Step("a", 3))


def test_row_groups_and_files_are_combined_up_to_a_size(
    tables: NativeTables, table: LakeTable, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(compaction, "GROUP_ROWS", 4)
    for number in range(7):
        tables.append(table, rows(number, text="y" * 50), None)
    tables.append(table, rows(*range(10, 16)), None)
    tables.compact(table, "upkeep")
    found = parquet(table)
    groups = [found.row_group(n).num_rows for n in range(found.num_row_groups)]
    assert groups == [4, 3, 6]
    size = Path(table.reference, next(iter(paths(table)))).stat().st_size
    for number in range(6):
        tables.append(table, rows(number), None)
    monkeypatch.setattr(compaction, "TARGET_BYTES", 2 * size // 3)
    monkeypatch.setattr(compaction, "SMALL_BYTES", size)
    tables.compact(table, "upkeep")
    assert 1 < len(paths(table)) < 7
    assert len(numbers(tables, table)) == 19


def test_columns_missing_from_the_definition_are_kept(
    tables: NativeTables, table: LakeTable
) -> None:
    """Maintenance defines a table of changes only by the columns that all of them have."""
    narrow = replace(table, schema=pa.schema([SCHEMA.field("n")]), statistics=("n",))
    tables.append(table, rows(1, 2, text="kept"), None)
    tables.append(table, rows(3, text="kept"), None)
    tables.delete(narrow, equal("n", 1), Step("d", 1))
    tables.compact(narrow, "upkeep")
    assert len(paths(table)) == 1
    assert tables.read(table, equal("text", "kept"), ["n"]).num_rows == 2


def test_the_last_rows_are_found_in_a_file_of_many(
    tables: NativeTables, table: LakeTable, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(compaction, "GROUP_ROWS", 2)
    table = replace(table, statistics=("source", "n"))
    for source in ("a", "b"):
        for number in range(5):
            tables.append(table, rows(number, source=source), None)
    order = [("source", "ascending"), ("n", "ascending")]
    before = tables.last(table, "n", ["source"], 2, ALL_ROWS).sort_by(order)
    tables.compact(table, "upkeep")
    assert tables.last(table, "n", ["source"], 2, ALL_ROWS).sort_by(order) == before
    tables.append(table, rows(7, source="b"), None)
    found = tables.last(table, "n", ["source"], 1, ALL_ROWS).select(["source", "n"]).to_pylist()
    assert sorted(tuple(row.values()) for row in found) == [("a", 4), ("b", 7)]


def test_a_compacted_ledger_has_the_same_entries_and_works(tables: NativeTables) -> None:
    ledger = Ledger.of(tables, "shop")
    for number in range(5):
        ledger.finish(ledger.propose("bronze", {"n": number}), {"files": number})
    opened = ledger.propose("bronze", {"n": 5})
    before = ledger.history()
    assert tables.compact(batches(tables.lake), "upkeep")
    assert len(paths(batches(tables.lake))) == 1
    again = Ledger.of(tables, "shop")
    assert again.history() == before
    assert (again.open("bronze"), again.record("bronze")) == (opened, {"files": 4})
    again.finish(opened, {})
    assert again.propose("bronze", {}).batch == 7
