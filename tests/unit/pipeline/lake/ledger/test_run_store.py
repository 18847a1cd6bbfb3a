"""The table `ledger/runs`: written by day, and read from its last days."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime, timedelta, timezone
from pathlib import Path

import pyarrow.parquet as pq
from deltalake import DeltaTable

from pipeline.lake import Lake
from pipeline.lake.ledger.run_record import RunRecord
from pipeline.lake.ledger.run_store import (
    append_run,
    last_runs,
    last_runs_by_outcome,
    read_runs,
    runs,
)
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
    assert last_runs(NO_SPARK, lake) == []
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
    assert {run.source for run in found} == {"blog", "shop"}
    assert [run.run_id for run in found if run.source == "blog"] == ["month"]


def test_the_last_run_of_each_command_and_outcome_is_found_without_reading_others(
    tmp_path: Path,
) -> None:
    lake = Lake(str(tmp_path))
    records = [
        replace(ran(run_id, days), command=command, outcome=outcome)
        for run_id, days, command, outcome in (
            ("old", 2, "run", "done"),
            ("done", 1, "run", "done"),
            ("failed", 40, "run", "failed"),
            ("applied", 3, "apply", "done"),
        )
    ]
    for record in [*records, ran("other", 0, "blog")]:
        append_run(NO_SPARK, lake, record)
    # The one that is not asked for cannot be read any more.
    (file,) = (path for path in tmp_path.rglob("*.parquet") if _run_id(path) == "old")
    file.write_bytes(b"damaged")
    assert ids(last_runs_by_outcome(NO_SPARK, lake, "shop")) == ["done", "applied", "failed"]
    assert ids(last_runs_by_outcome(NO_SPARK, lake, "shop", "run")) == ["done", "failed"]
    assert last_runs_by_outcome(NO_SPARK, lake, "none") == []


def _run_id(file: Path) -> str:
    return str(pq.ParquetFile(file).read(["run_id"])["run_id"][0])
