"""What quarantine tells gold of faults that were taken up."""

from __future__ import annotations

from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from pipeline.gold.faults import taken_up
from pipeline.lake import Lake

QUARANTINE = "source string, kind string, __lsn bigint, tables array<string>, resolved_batch bigint"
ROWS = [
    ("shop", "undecodable", 5, ["s.first"], 2),
    ("shop", "unsupported", 6, ["s.a", "s.b"], 2),
    ("shop", "lossy_key", 7, ["s.b"], 2),
    ("shop", "undecodable", 8, ["s.open"], None),
    ("shop", "definition", 8, ["s.told anew"], 2),
    ("other", "undecodable", 8, ["s.another source's"], 2),
    ("shop", "undecodable", 9, None, 3),
]


@pytest.fixture(scope="module")
def lake(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Lake:
    made = Lake(str(tmp_path_factory.mktemp("lake")))
    frame = spark.createDataFrame(ROWS, QUARANTINE)
    frame.coalesce(1).write.format("delta").save(made.quarantine)
    return made


@pytest.mark.parametrize(
    ("low", "high", "lsns"),
    [(5, 8, [6, 7]), (4, 5, [5]), (7, 8, []), (8, 9, [9])],
    ids=["some", "both ends", "none", "one that names none"],
)
def test_transactions_that_were_taken_up_are_told(
    spark: SparkSession, lake: Lake, low: int, high: int, lsns: list[int]
) -> None:
    assert [one.lsn for one in taken_up(spark, lake, "shop", low, high)] == lsns


def test_their_tables_are_told(spark: SparkSession, lake: Lake) -> None:
    several, one, any_table = taken_up(spark, lake, "shop", 5, 9)
    assert several.has({"s.b", "s.c"})
    assert not one.has({"s.a", "s.c"})
    assert any_table.has({"s.c"})


def test_a_lake_without_faults_has_taken_up_none(spark: SparkSession, tmp_path: Path) -> None:
    assert taken_up(spark, Lake(str(tmp_path)), "shop", 0, 9) == ()
