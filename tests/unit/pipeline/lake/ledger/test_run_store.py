"""The table `ledger/runs`: written by day, and read from its last days."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime, timedelta, timezone
from pathlib import Path

from deltalake import DeltaTable

from pipeline.lake import Lake
from pipeline.lake.ledger.run_record import RunRecord
from pipeline.lake.ledger.run_store import append_run, last_runs, read_runs, runs
from tests.support.spark.no_spark import NO_SPARK
from tests.unit.pipeline.lake.ledger.test_run_record import RECORD

NOW = datetime.now(timezone.utc).replace(microsecond=0)


def ran(run_id: str, days_ago: float, source: str = "shop") -> RunRecord:
    started = NOW - timedelta(days=days_ago)
    return replace(RECORD, run_id=run_id, source=source, started_at=started, finished_at=started)


def ids(records: list[RunRecord]) -> list[str]:
    return [record.run_id for record in records]


def test_records_are_kept_by_day(tmp_path: Path) -> None:
    lake = Lake(str(tmp_path))
    assert read_runs(NO_SPARK, lake) == []
    assert last_runs(NO_SPARK, lake) == {}
    upkeep = replace(ran("upkeep", 10, "blog"), command="maintain")
    seeded = replace(ran("seeded", 12, "blog"), command="seed")
    old = (ran("old", 40), ran("month", 20, "blog"))
    records = (ran("new", 0), *old, ran("same", 0), upkeep, seeded)
    for record in records:
        append_run(NO_SPARK, lake, record)
    table = DeltaTable(runs(lake).reference)
    assert len(table.history()) == len(records)  # one commit each
    assert table.metadata().partition_columns == ["day"]
    log = "".join(file.read_text() for file in tmp_path.rglob("*.json"))
    assert '"txn"' not in log

    # No record displaces another, even one that started at the same time.
    assert sorted(ids(read_runs(NO_SPARK, lake, last=2))) == ["new", "same"]
    assert ids(read_runs(NO_SPARK, lake, last=9))[2:] == ["upkeep", "seeded", "month", "old"]
    assert read_runs(NO_SPARK, lake, source="blog", last=1) == [upkeep]
    # Maintenance and seeds do not look for changes.
    found = last_runs(NO_SPARK, lake)
    assert found.keys() == {"blog", "shop"}
    assert found["blog"].run_id == "month"
