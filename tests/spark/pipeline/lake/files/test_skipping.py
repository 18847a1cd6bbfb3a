"""Lookups of the last rows return the same by delta-rs and by Spark."""

from __future__ import annotations

import pytest

from pipeline.lake import Lake
from pipeline.lake.delta_log.conditions import ALL_ROWS, Condition, compare, equal
from pipeline.lake.delta_log.model import LakeTable
from pipeline.lake.tables.by_spark import SparkTables
from pipeline.lake.tables.native import NativeTables
from tests.support.lake.counted_rows import COUNTED, counted_table


@pytest.fixture(scope="module")
def tables(tmp_path_factory: pytest.TempPathFactory) -> NativeTables:
    return NativeTables(Lake(str(tmp_path_factory.mktemp("lake"))))


@pytest.fixture(scope="module")
def counted(tables: NativeTables) -> LakeTable:
    return counted_table(tables)


@pytest.mark.parametrize(
    ("count", "where", "found"),
    [
        (1, ALL_ROWS, ["a3", "a3", "b9", "c4"]),
        (2, ALL_ROWS, ["a2", "a3", "a3", "b9", "c4"]),
        (9, equal("of", "a"), ["a1", "a2", "a3", "a3"]),
        (1, compare("n", "<", 3), ["a2"]),
        (1, equal("of", "nobody"), []),
    ],
)
@pytest.mark.parametrize("by_spark", [False, True])
def test_the_last_rows_of_each_group_are_found(
    request: pytest.FixtureRequest,
    tables: NativeTables,
    counted: LakeTable,
    count: int,
    where: Condition,
    found: list[str],
    by_spark: bool,
) -> None:
    way: NativeTables | SparkTables = tables
    if by_spark:
        way = SparkTables(request.getfixturevalue("spark"), tables.lake)
    rows = way.last(counted, "n", ("of",), count, where)
    assert rows.schema.names == COUNTED.names
    assert sorted(rows.column("body").to_pylist()) == found
