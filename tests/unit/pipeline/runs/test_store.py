"""`ledger/runs`: written, and read from its last days."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime, timedelta, timezone
from pathlib import Path

from chispa import assert_df_equality
from delta.tables import DeltaTable
from pyspark.sql import SparkSession

from pipeline.lake import Lake
from pipeline.runs.record import RunRecord
from pipeline.runs.store import append_run, last_runs, latest, path, read_runs
from tests.unit.pipeline.runs.test_record import RECORD

NOW = datetime.now(timezone.utc).replace(microsecond=0)


def ran(run_id: str, days_ago: float, source: str = "shop") -> RunRecord:
    started = NOW - timedelta(days=days_ago)
    return replace(RECORD, run_id=run_id, source=source, started_at=started, finished_at=started)


def ids(records: list[RunRecord]) -> list[str]:
    return [record.run_id for record in records]


def test_the_last_run_of_each_source_is_the_one_that_was_started_last(spark: SparkSession) -> None:
    columns = "run_id STRING, source STRING, started_at INT"
    runs = [("a", "shop", 1), ("b", "shop", 3), ("c", "blog", 2), ("d", "shop", 2)]
    assert_df_equality(
        latest(spark.createDataFrame(runs, columns)),
        spark.createDataFrame([("b", "shop", 3), ("c", "blog", 2)], columns),
        ignore_row_order=True,
        ignore_nullable=True,
    )


def test_records_are_kept_by_day(spark: SparkSession, tmp_path: Path) -> None:
    lake = Lake(str(tmp_path))
    assert read_runs(spark, lake) == []
    assert last_runs(spark, lake) == {}
    upkeep = replace(ran("upkeep", 10, "blog"), command="maintain")
    seeded = replace(ran("seeded", 12, "blog"), command="seed")
    old = (ran("old", 40), ran("month", 20, "blog"))
    records = (ran("new", 0), *old, ran("same", 0), upkeep, seeded)
    for record in records:
        append_run(spark, lake, record)
    table = DeltaTable.forPath(spark, path(lake))
    assert table.history().count() == len(records)  # one commit each
    assert table.detail().first()["partitionColumns"] == ["day"]
    log = "".join(file.read_text() for file in tmp_path.rglob("*.json"))
    assert '"txn"' not in log

    # Started at the same time or not, none displaces another.
    assert sorted(ids(read_runs(spark, lake, last=2))) == ["new", "same"]
    assert ids(read_runs(spark, lake, last=9))[2:] == ["upkeep", "seeded", "month", "old"]
    assert read_runs(spark, lake, source="blog", last=1) == [upkeep]
    # Maintenance looks for no changes, nor does a seed.
    found = last_runs(spark, lake)
    assert found.keys() == {"blog", "shop"}
    assert found["blog"].run_id == "month"
