"""Resolved faults, read from the quarantine."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pytest

from pipeline.gold.changes.faults import resolved_faults
from pipeline.lake import Lake
from pipeline.lake.delta_step import Step
from pipeline.lake.tables.native import NativeTables
from pipeline.silver.decode.silver_tables import QUARANTINE, quarantine_table
from tests.support.spark.no_spark import NO_SPARK

COLUMNS = ("source", "kind", "__lsn", "tables", "resolved_batch")
ROWS = [
    ("shop", "undecodable", 5, ["s.first"], 2),
    ("shop", "unsupported", 6, ["s.a", "s.b"], 2),
    ("shop", "lossy_key", 7, ["s.b"], 2),
    ("shop", "undecodable", 8, ["s.open"], None),
    ("shop", "definition", 8, ["s.defined again"], 2),
    ("other", "undecodable", 8, ["s.another source's"], 2),
    ("shop", "undecodable", 9, None, 3),
]


@pytest.fixture(scope="module")
def lake(tmp_path_factory: pytest.TempPathFactory) -> Lake:
    made = Lake(str(tmp_path_factory.mktemp("lake")))
    named = [dict(zip(COLUMNS, row, strict=True)) for row in ROWS]
    rows = pa.Table.from_pylist(named, schema=QUARANTINE)
    NativeTables(made).append(quarantine_table(made), rows, Step("made", 1))
    return made


@pytest.mark.parametrize(
    ("low", "high", "lsns"),
    [(5, 8, [6, 7]), (4, 5, [5]), (7, 8, []), (8, 9, [9])],
    ids=["some", "both ends", "none", "one that names none"],
)
def test_transactions_with_resolved_faults_are_listed(
    lake: Lake, low: int, high: int, lsns: list[int]
) -> None:
    assert [one.lsn for one in resolved_faults(NO_SPARK, lake, "shop", low, high)] == lsns


def test_resolved_faults_list_their_tables(lake: Lake) -> None:
    several, one, any_table = resolved_faults(NO_SPARK, lake, "shop", 5, 9)
    assert several.has({"s.b", "s.c"})
    assert not one.has({"s.a", "s.c"})
    assert any_table.has({"s.c"})


def test_a_lake_without_faults_has_no_resolved_ones(tmp_path: Path) -> None:
    assert resolved_faults(NO_SPARK, Lake(str(tmp_path)), "shop", 0, 9) == ()
