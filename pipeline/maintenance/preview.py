"""What maintenance would do now, and why no more: writes nothing."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import datetime

from pyspark.sql import SparkSession

from pipeline import delta
from pipeline.ledger import Ledger
from pipeline.maintenance.batch import Done, limits
from pipeline.maintenance.plan import MaintenancePlan
from pipeline.maintenance.planning import plan_next
from pipeline.maintenance.retention import Removal, removals, runs_before
from pipeline.maintenance.seeds import abandoned_seeds
from pipeline.maintenance.tables import Table, gold_tables, shared_tables, silver_tables
from pipeline.maintenance.upkeep import SESSION, due, look, old_files
from pipeline.progress import Progress
from pipeline.sessions import own_session
from pipeline.settings import Settings


def preview(
    spark: SparkSession,
    settings: Settings,
    ledger: Ledger,
    progress: Progress,
    now: datetime,
    *,
    shared: bool,
) -> Done:
    """The next batch, or the one that is open; `shared`: see `pipeline.maintenance.batch`."""
    plan = ledger.open("maintenance")
    body = MaintenancePlan.from_body(plan.body) if plan else plan_next(spark, settings, ledger, now)
    session = own_session(spark, SESSION)
    silver = silver_tables(spark, settings)
    common = shared_tables(spark, settings) if shared else []
    tables = [*gold_tables(spark, settings, first=body.cuts_from or 0), *silver, *common]
    old_runs = [runs_before(settings, now)] if shared else []
    notes = [] if plan is None else [f"Batch {plan.batch} is open: it is finished first."]
    notes += _removals(spark, settings, body, silver, old_runs)
    if seeds := len(list(abandoned_seeds(settings.layout, settings.source, now))):
        notes.append(f"silver/_seeds: remove {seeds:,} that were refused or never finished")
    with progress.task("maintenance: looking", len(tables), "tables") as task:
        for table in tables:
            notes += _upkeep(session, settings, table, now)
            task.advance()
    return Done(plan.batch if plan else 0, {}, (*notes, *limits(body)))


def _removals(
    spark: SparkSession,
    settings: Settings,
    body: MaintenancePlan,
    silver: list[Table],
    common: Sequence[Removal],
) -> Iterator[str]:
    if body.bronze.files:
        size = f"{body.bronze.bytes / (1 << 20):,.1f} MiB"
        yield f"bronze/segments: remove {body.bronze.files} files of the log ({size})"
    for removal in (*removals(spark, settings, body, silver), *common):
        if removal.name == "bronze/segments" or not delta.exists(spark, removal.table):
            continue
        if count := delta.read(spark, removal.table).where(removal.where).count():
            yield f"{removal.name}: remove {count:,} rows"


def _upkeep(spark: SparkSession, settings: Settings, table: Table, now: datetime) -> Iterator[str]:
    looked = look(spark, table)
    yield from due(spark, table, looked, settings.retention.cuts, now).sentences(table, looked)
    if old := old_files(spark, table):
        yield f"{table.name}: delete {old:,} old files"
