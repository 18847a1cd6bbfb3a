"""Reading few changes from silver without Spark."""

from __future__ import annotations

from dataclasses import replace

import pytest

from decoder import TypeOptions
from decoder.constants import ColumnType
from decoder.model.definition import ColumnDefinition
from pipeline.gold.changes import small_batch
from pipeline.gold.changes.small_batch import rows_here
from pipeline.gold.changes.steps import Rows
from pipeline.lake import Lake
from pipeline.lake.delta_log.delta_rs import AlteredTableError
from pipeline.lake.tables.native import NativeTables
from tests.support.silver.made_silver import MadeSilver, MadeTransaction, definition, lsn
from tests.support.spark.no_spark import NO_SPARK

T = definition()
BOUNDS = {"all": (1, 4), "first": (1, 1), "between": (2, 2), "after": (5, 9)}


@pytest.fixture(scope="module")
def lake(tmp_path_factory: pytest.TempPathFactory) -> Lake:
    """Return a lake with changes in the first and third transaction, a batch each."""
    root = str(tmp_path_factory.mktemp("lake"))
    silver = MadeSilver(NO_SPARK, root)
    for number in (1, 3):
        silver.batch([MadeTransaction(number).insert(T, number, "a")])
    return Lake(root)


def part(first: int, last: int) -> Rows:
    return Rows(T, 1, (lsn(first), 0), (lsn(last) + 999, 0), ("id",))


@pytest.mark.parametrize(
    ("bounds", "ids"), [("all", [1, 3]), ("first", [1]), ("between", []), ("after", [])]
)
def test_rows_between_a_parts_bounds_are_read(lake: Lake, bounds: str, ids: list[int]) -> None:
    found = rows_here(NO_SPARK, lake, part(*BOUNDS[bounds]), TypeOptions())
    assert found is not None
    assert sorted(row["after"]["id"] for row in found.to_pylist()) == ids


def test_a_missing_table_has_no_rows(lake: Lake) -> None:
    found = rows_here(NO_SPARK, lake, replace(part(1, 4), version=7), TypeOptions())
    assert found is not None
    assert found.num_rows == 0


def test_more_than_few_rows_are_left_to_spark(lake: Lake, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(small_batch, "FEW", 1)
    assert rows_here(NO_SPARK, lake, part(1, 4), TypeOptions()) is None


def test_rows_that_take_too_much_memory_are_left_to_spark(
    lake: Lake, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(small_batch, "HELD_BYTES", 100)
    assert rows_here(NO_SPARK, lake, part(1, 4), TypeOptions()) is None


def test_tables_with_mapped_columns_are_left_to_spark(lake: Lake) -> None:
    columns = (T.columns[0], ColumnDefinition("a b", ColumnType.LONG))
    rows = replace(part(1, 4), definition=replace(T, columns=columns))
    assert rows_here(NO_SPARK, lake, rows, TypeOptions()) is None


def test_a_table_with_a_feature_unknown_to_delta_rs_is_left_to_spark(
    lake: Lake, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object, **__: object) -> int:
        raise AlteredTableError("silver/t", "was given a feature", remedy="Undo that.")

    monkeypatch.setattr(NativeTables, "read_few", refuse)
    assert rows_here(NO_SPARK, lake, part(1, 4), TypeOptions()) is None


def test_a_path_of_another_machine_is_read_by_its_spark(
    lake: Lake, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("pipeline.lake.child_sessions.is_connected", lambda spark: True)
    monkeypatch.setattr("pipeline.lake.tables.choice.started", lambda spark: spark)
    assert rows_here(NO_SPARK, lake, part(1, 4), TypeOptions()) is None
