"""`ledger/runs`: the records of runs, a row each, in partitions by day.

A record is appended without a transaction identifier (see `delta.append`): it has its run's own id,
and is written once. Its day decides everything else: what is too old goes as whole partitions, of
which no row is read (`pipeline.maintenance`), and a reader looks at the last days first.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime, timedelta, timezone
from typing import Any

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession, functions as sf

from pipeline import delta
from pipeline.lake import Lake
from pipeline.runs.record import RUNS, RunRecord

PROPERTIES = {
    # Of every record, the table's log keeps these and no more: there is a file for each run.
    "delta.dataSkippingStatsColumns": "started_at",
}
WINDOWS = (2, 32, None)
"""Days to look back for what is asked: more are looked at only if it is not in these."""


def append_run(spark: SparkSession, lake: Lake, record: RunRecord) -> None:
    """Keep a record: one commit."""
    frame = spark.createDataFrame(to_arrow(record))
    # A lake that was made before has fewer columns.
    options = {**PROPERTIES, "mergeSchema": "true"}
    delta.append(
        frame.coalesce(1), path(lake), app="ledger/runs", partition_by=["day"], options=options
    )


def to_arrow(record: RunRecord) -> pa.Table:
    """The record as the table's one row."""
    row = {name: _as_arrow(value) for name, value in record.to_row().items()}
    return pa.Table.from_pylist([row], schema=RUNS)


def path(lake: Lake) -> str:
    """The Delta table."""
    return lake.ledger("runs")


def read_runs(
    spark: SparkSession, lake: Lake, *, source: str | None = None, last: int = 20
) -> list[RunRecord]:
    """The last runs that were started, of a source or of all, the newest first."""
    if not delta.exists(spark, path(lake)):
        return []
    found: list[RunRecord] = []
    for days in WINDOWS:
        rows = _since(delta.read(spark, path(lake)), days)
        if source is not None:
            rows = rows.where(sf.col("source") == source)
        found = _records(rows.orderBy(sf.col("started_at").desc()).limit(last))
        if len(found) == last:
            break
    return found


_LOOKS_FOR_CHANGES = "command NOT IN ('maintain', 'seed')"


def last_runs(spark: SparkSession, lake: Lake) -> dict[str, RunRecord]:
    """The last run of each source that looked for changes, however long ago it was."""
    if not delta.exists(spark, path(lake)):
        return {}
    runs = delta.read(spark, path(lake)).where(_LOOKS_FOR_CHANGES)
    sources = {row["source"] for row in runs.select("source").distinct().collect()}
    found: dict[str, RunRecord] = {}
    for days in WINDOWS:
        found = {record.source: record for record in _records(latest(_since(runs, days)))}
        if found.keys() == sources:
            break
    return found


def latest(runs: DataFrame) -> DataFrame:
    """Of each source, the run that was started last."""
    row = sf.struct(*runs.columns)
    return runs.groupBy("source").agg(sf.max_by(row, "started_at").alias("run")).select("run.*")


def _since(runs: DataFrame, days: int | None) -> DataFrame:
    if days is None:
        return runs
    today = datetime.now(timezone.utc).date()
    return runs.where(sf.col("day") > sf.lit(today - timedelta(days=days)))


def _records(rows: DataFrame) -> list[RunRecord]:
    return [RunRecord.from_row(row) for row in rows.coalesce(1).toArrow().to_pylist()]


def _as_arrow(value: Any) -> Any:
    """A map as Arrow takes it."""
    return list(value.items()) if isinstance(value, Mapping) else value
