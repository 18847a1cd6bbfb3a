"""The next batch of maintenance, from what a source's layers still need."""

from __future__ import annotations

from datetime import datetime

from pyspark.sql import SparkSession, functions as sf

from pipeline import delta
from pipeline.bronze.files import stored_ordinals
from pipeline.lake import Lake
from pipeline.ledger import Ledger
from pipeline.maintenance.limits import PublishedCut, bronze_files, first_kept, limit
from pipeline.maintenance.needs import Finished, find_needs, read_finished
from pipeline.maintenance.plan import MaintenancePlan
from pipeline.removed import Removed, removed
from pipeline.settings import Settings


def plan_next(
    spark: SparkSession, settings: Settings, ledger: Ledger, now: datetime
) -> MaintenancePlan:
    """Look at the lake and decide; there may be nothing to remove."""
    lake = settings.layout
    finished = read_finished(ledger)
    needs = find_needs(spark, settings, ledger, finished, now)
    silver = limit(needs.silver)
    gone = removed(ledger)
    if silver.lsn > gone.lsn:
        last = _last_commit(spark, lake, settings.source, silver.lsn)
        gone = Removed(silver.lsn, max(gone.committed_at, last))
    state = ledger.last("gold")
    return MaintenancePlan(
        first_kept(_cuts(spark, lake, settings.source, finished), now, settings.retention.cuts),
        bronze_files(
            needs.files,
            needs.bronze,
            there=stored_ordinals(spark, lake, settings.source),
            faulty=needs.faulty,
        ),
        silver,
        gone,
        state.batch if state else 0,
    )


def _cuts(spark: SparkSession, lake: Lake, source: str, finished: Finished) -> list[PublishedCut]:
    if not delta.exists(spark, lake.cuts):
        return []
    rows = delta.read(spark, lake.cuts).where(sf.col("source") == source).select("batch").collect()
    return [PublishedCut(row["batch"], finished.get(("gold", row["batch"]))) for row in rows]


def _last_commit(spark: SparkSession, lake: Lake, source: str, before: int) -> int:
    """When the youngest of the transactions before an LSN was committed first."""
    if not delta.exists(spark, lake.transactions):
        return 0
    rows = delta.read(spark, lake.transactions)
    within = rows.where((sf.col("source") == source) & (sf.col("__lsn") < before))
    at = sf.coalesce("original_committed_at", "committed_at")
    row = within.agg(sf.max(sf.unix_micros(at))).first()
    return 0 if row is None or row[0] is None else int(row[0])
