"""`binlake maintain --dry-run`: report what maintenance would do, without writing."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime

from pipeline.lake.ledger.ledger import Plan
from pipeline.layer import LayerRun
from pipeline.maintenance.batch import limits, skip_reason
from pipeline.maintenance.leftovers import abandoned_scratch, abandoned_seeds
from pipeline.maintenance.needs import plan_next
from pipeline.maintenance.removals import MaintenancePlan
from pipeline.maintenance.retention import removals, runs_before
from pipeline.maintenance.tables import Table, gold_tables, shared_tables, silver_tables
from pipeline.maintenance.upkeep import due
from pipeline.silver.decode.silver_tables import committer


def preview(run: LayerRun, plan: Plan | None, now: datetime, *, shared: bool) -> Iterator[str]:
    """Yield the work of the open batch `plan`, or else of the next one, and its limits.

    `shared`: see `pipeline.maintenance.batch`.
    """
    body = MaintenancePlan.from_body(plan.body) if plan else plan_next(run, now)
    silver = silver_tables(run)
    common = shared_tables(run) if shared else []
    tables = [*gold_tables(run, first=body.cuts_from), *silver, *common]
    if plan is not None:
        yield f"Batch {plan.batch} is unfinished and is finished first."
    yield from _removals(run, body, silver, now, shared=shared)
    if seeds := len(list(abandoned_seeds(run.lake, run.source, now))):
        yield f"silver/_seeds: remove {seeds:,} refused or unfinished initial snapshots"
    if shared and (left := len(list(abandoned_scratch(run.lake, now)))):
        yield f"silver/_staging: remove {left:,} folders left by interrupted runs"
    with run.progress.task("inspecting tables", len(tables), "tables") as task:
        for table in tables:
            yield from _upkeep(run, table, now)
            task.advance()
    yield from limits(body)


def _removals(
    run: LayerRun, body: MaintenancePlan, silver: list[Table], now: datetime, *, shared: bool
) -> Iterator[str]:
    if body.bronze.files:
        size = f"{body.bronze.bytes / (1 << 20):,.1f} MiB"
        yield f"bronze/segments: remove {body.bronze.count} log files ({size})"
    found = [removal for stage in removals(run, body, silver) for removal in stage]
    found += [runs_before(run.settings, now)] if shared else []
    for removal in found:
        if removal.name == "bronze/segments":
            continue
        by = committer(run.spark, run.ledger.tables, removal.table)
        if count := by.count(removal.table, removal.where):
            yield f"{removal.name}: remove {count:,} rows"


def _upkeep(run: LayerRun, table: Table, now: datetime) -> Iterator[str]:
    try:
        yield from due(run, table, now).sentences(table.name)
    except Exception as error:
        reason = skip_reason(table, error)
        if reason is None:
            raise
        yield f"{table.name} is skipped: {reason}."
