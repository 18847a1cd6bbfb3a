"""Plan the next maintenance batch from what a source's layers still need."""

from __future__ import annotations

from datetime import datetime

import pyarrow.compute as pc

from pipeline.bronze import read_files
from pipeline.bronze.files import stored_ordinals
from pipeline.gold.plan.published_cuts import cuts_table
from pipeline.lake.delta_log.conditions import compare, equal
from pipeline.lake.ledger.history_removed import Removed, removed
from pipeline.layer import LayerRun
from pipeline.maintenance.needs import (
    Finished,
    bronze_age,
    decoding_needs,
    gold_needs,
    name_needs,
    read_finished,
    seed_needs,
    silver_age,
)
from pipeline.maintenance.plan import MaintenancePlan, PublishedCut, bronze_files, first_kept
from pipeline.silver.decode.silver_tables import transactions_table
from pipeline.silver.tables.quarantine import retryable


def plan_next(run: LayerRun, now: datetime) -> MaintenancePlan:
    """Return the next plan; it may remove nothing."""
    ledger, keep = run.ledger, run.settings.retention
    finished = read_finished(ledger)
    files = tuple(read_files(run.spark, run.lake, run.source))
    gold = (*gold_needs(ledger), *seed_needs(run, files))
    silver = min(*gold, silver_age(ledger, finished, now, keep.silver))
    bronze = (
        *gold,
        *decoding_needs(ledger),
        *name_needs(run),
        bronze_age(files, finished, now, keep.bronze),
    )
    total = removed(ledger)
    if silver.before_lsn > total.lsn:
        last = _last_commit(run, silver.before_lsn)
        total = Removed(silver.before_lsn, max(total.committed_at, last))
    applied = ledger.last("gold")
    return MaintenancePlan(
        first_kept(_cuts(run, finished), now, keep.cuts),
        bronze_files(
            files,
            bronze,
            there=stored_ordinals(run.spark, run.lake, run.source),
            faulty={row.ordinal for row in retryable(run.spark, run.lake, run.source)},
        ),
        silver,
        total,
        applied.batch if applied else 0,
    )


def _cuts(run: LayerRun, finished: Finished) -> list[PublishedCut]:
    rows = run.ledger.tables.read(cuts_table(run.lake), equal("source", run.source), ["batch"])
    return [
        PublishedCut(batch, finished.get(("gold", batch)))
        for batch in rows.column("batch").to_pylist()
    ]


def _last_commit(run: LayerRun, before: int) -> int:
    """Return the latest original commit time of the transactions before an LSN.

    In microseconds since 1970; 0 if there are none.
    """
    within = equal("source", run.source) & compare("__lsn", "<", before)
    columns = ["original_committed_at", "committed_at"]
    rows = run.ledger.tables.read(transactions_table(run.lake), within, columns)
    last = pc.max(pc.coalesce(*rows.itercolumns()).cast("int64")).as_py()
    return last or 0
