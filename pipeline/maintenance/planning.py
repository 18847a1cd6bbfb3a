"""Plan the next maintenance batch from what a source's layers still need."""

from __future__ import annotations

from datetime import datetime

import pyarrow.compute as pc

from pipeline.bronze.files import stored_ordinals
from pipeline.gold.plan.published_cuts import cuts_table
from pipeline.lake import Lake, Ledger
from pipeline.lake.delta_log.conditions import compare, equal
from pipeline.lake.ledger.history_removed import Removed, removed
from pipeline.lake.starting import Spark
from pipeline.lake.tables.tables import Tables
from pipeline.maintenance.limits import PublishedCut, bronze_files, first_kept, limit
from pipeline.maintenance.needs import Finished, find_needs, read_finished
from pipeline.maintenance.plan import MaintenancePlan
from pipeline.settings import Settings
from pipeline.silver.decode.silver_tables import transactions_table


def plan_next(spark: Spark, settings: Settings, ledger: Ledger, now: datetime) -> MaintenancePlan:
    """Return the next plan; it may remove nothing."""
    lake = settings.layout
    finished = read_finished(ledger)
    needs = find_needs(spark, settings, ledger, finished, now)
    silver = limit(needs.silver)
    total = removed(ledger)
    if silver.lsn > total.lsn:
        last = _last_commit(ledger.tables, lake, settings.source, silver.lsn)
        total = Removed(silver.lsn, max(total.committed_at, last))
    state = ledger.last("gold")
    return MaintenancePlan(
        first_kept(
            _cuts(ledger.tables, lake, settings.source, finished), now, settings.retention.cuts
        ),
        bronze_files(
            needs.files,
            needs.bronze,
            there=stored_ordinals(spark, lake, settings.source),
            faulty=needs.faulty,
        ),
        silver,
        total,
        state.batch if state else 0,
    )


def _cuts(tables: Tables, lake: Lake, source: str, finished: Finished) -> list[PublishedCut]:
    rows = tables.read(cuts_table(lake), equal("source", source), ["batch"])
    return [
        PublishedCut(batch, finished.get(("gold", batch)))
        for batch in rows.column("batch").to_pylist()
    ]


def _last_commit(tables: Tables, lake: Lake, source: str, before: int) -> int:
    """Return the latest original commit time of the transactions before an LSN.

    In microseconds since 1970; 0 if there are none.
    """
    within = equal("source", source) & compare("__lsn", "<", before)
    columns = ["original_committed_at", "committed_at"]
    rows = tables.read(transactions_table(lake), within, columns)
    last = pc.max(pc.coalesce(*rows.itercolumns()).cast("int64")).as_py()
    return last or 0
