"""The ledger of a lake that only Spark can access."""

from __future__ import annotations

from pathlib import Path

from pyspark.sql import SparkSession

from pipeline.lake import Lake, Ledger
from pipeline.lake.tables.by_spark import SparkTables
from tests.support.spark.no_spark import NO_SPARK


def test_the_ledger_works_the_same_by_spark(spark: SparkSession, tmp_path: Path) -> None:
    lake = Lake(str(tmp_path))
    tables = SparkTables(spark, lake)
    slow, quick = (Ledger.of(tables, "shop") for _ in range(2))
    assert slow.open("gold") is None
    plan = quick.propose("gold", {"by": "quick"})
    assert slow.propose("gold", {"by": "slow"}) == plan
    assert [ledger.wrote(plan) for ledger in (slow, quick)] == [False, True]
    slow.finish(plan, {"cut_lsn": 7})
    quick.finish(plan, {"cut_lsn": 8})
    second = slow.propose("gold", {"by": "slow"})
    assert slow.wrote(second)
    again = Ledger.of(tables, "shop")
    assert (again.last("gold"), again.open("gold")) == (plan, second)
    assert again.finished("gold", 1) == (plan, {"cut_lsn": 7})
    assert again.batch_with("gold", "cut_lsn", 7) == 1
    assert Ledger.of(tables, "").history() == Ledger(NO_SPARK, lake, "").history()
    assert Ledger.of(tables, "").last_entries() == Ledger(NO_SPARK, lake, "").last_entries()
