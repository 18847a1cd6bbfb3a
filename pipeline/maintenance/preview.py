"""`binlake maintain --dry-run`: report what maintenance would do, without writing."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import datetime

from pipeline.lake import Ledger
from pipeline.lake.starting import Spark
from pipeline.lake.tables.tables import Tables
from pipeline.maintenance.batch import Done, limits, skip_reason
from pipeline.maintenance.plan import MaintenancePlan
from pipeline.maintenance.planning import plan_next
from pipeline.maintenance.retention import Removal, removals, runs_before
from pipeline.maintenance.scratch import abandoned_scratch
from pipeline.maintenance.seeds import abandoned_seeds
from pipeline.maintenance.tables import Table, gold_tables, shared_tables, silver_tables
from pipeline.maintenance.upkeep import due, read_details
from pipeline.observe import Progress
from pipeline.settings import Settings
from pipeline.silver.decode.silver_tables import committer


def preview(
    spark: Spark,
    settings: Settings,
    ledger: Ledger,
    progress: Progress,
    now: datetime,
    *,
    shared: bool,
) -> Done:
    """Report what the open batch, or else the next one, would do, and what limits it.

    `shared`: see `pipeline.maintenance.batch`.
    """
    plan = ledger.open("maintenance")
    body = MaintenancePlan.from_body(plan.body) if plan else plan_next(spark, settings, ledger, now)
    by = ledger.tables
    silver = silver_tables(spark, by, settings)
    common = shared_tables(spark, by, settings) if shared else []
    tables = [*gold_tables(by, settings, first=body.cuts_from), *silver, *common]
    old_runs = [runs_before(settings, now)] if shared else []
    notes = [] if plan is None else [f"Batch {plan.batch} is unfinished and is finished first."]
    notes += _removals(spark, by, settings, body, silver, old_runs)
    if seeds := len(list(abandoned_seeds(settings.layout, settings.source, now))):
        notes.append(f"silver/_seeds: remove {seeds:,} refused or unfinished seeds")
    if shared and (left := len(list(abandoned_scratch(settings.layout, now)))):
        notes.append(f"silver/_staging: remove {left:,} folders left by interrupted runs")
    with progress.task("maintenance: inspecting", len(tables), "tables") as task:
        for table in tables:
            notes += _upkeep(spark, by, settings, table, now)
            task.advance()
    return Done(plan.batch if plan else 0, {}, (*notes, *limits(body)))


def _removals(
    spark: Spark,
    tables: Tables,
    settings: Settings,
    body: MaintenancePlan,
    silver: list[Table],
    common: Sequence[Removal],
) -> Iterator[str]:
    if body.bronze.files:
        size = f"{body.bronze.bytes / (1 << 20):,.1f} MiB"
        yield f"bronze/segments: remove {body.bronze.files} log files ({size})"
    for removal in (*removals(tables, settings, body, silver), *common):
        if removal.name == "bronze/segments":
            continue
        by = committer(spark, tables, removal.table)
        if count := by.count(removal.table, removal.where):
            yield f"{removal.name}: remove {count:,} rows"


def _upkeep(
    spark: Spark, tables: Tables, settings: Settings, table: Table, now: datetime
) -> Iterator[str]:
    try:
        details = read_details(table.tables_for_reading(spark, tables), table)
        if details is not None:
            what = due(spark, table, details, settings.retention.cuts, now)
            yield from what.sentences(table, details)
    except Exception as error:
        reason = skip_reason(table, error)
        if reason is None:
            raise
        yield f"{table.name} is skipped: {reason}."
