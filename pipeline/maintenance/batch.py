"""Carrying out one plan of maintenance: what goes, then each table's upkeep, then the record."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from datetime import datetime

from pyspark.sql import SparkSession

from pipeline.delta import USER_METADATA
from pipeline.gold.damage import met_in
from pipeline.gold.rebuild import refresh_under_way
from pipeline.ledger import Ledger, Plan
from pipeline.maintenance.plan import MaintenancePlan
from pipeline.maintenance.record import Figures, figures, tag
from pipeline.maintenance.retention import carry_out, runs_before
from pipeline.maintenance.seeds import remove_abandoned_seeds
from pipeline.maintenance.tables import Table, gold_tables, shared_tables, silver_tables
from pipeline.maintenance.upkeep import SESSION, Keeper, LookedAfter, done, due, look
from pipeline.progress import Progress
from pipeline.removed import SPARED, spared
from pipeline.sessions import own_session
from pipeline.settings import Settings

SPARED_FOR = "a full refresh is under way"


@dataclass(frozen=True, slots=True)
class Done:
    """What a batch did: totals by name, sentences about where limits are and what is left."""

    batch: int
    counts: Mapping[str, int] = field(default_factory=dict)
    notes: tuple[str, ...] = ()


def execute(
    spark: SparkSession,
    settings: Settings,
    ledger: Ledger,
    plan: Plan,
    progress: Progress,
    now: datetime,
    *,
    shared: bool,
) -> Done:
    """Do all that the plan says, look after the source's tables, and record it.

    `shared`: after those that sources share too. Another run may finish the plan first.
    """
    body = MaintenancePlan.from_body(plan.body)
    # One that began when this batch was planned already needs what it was to remove.
    ledger.refresh()
    sparing = spared(ledger, plan) if refresh_under_way(ledger) else {SPARED: False}
    body = body.sparing(SPARED_FOR) if sparing[SPARED] else body
    session = own_session(spark, {**SESSION, USER_METADATA: tag(settings.source, plan.batch)})
    silver, common = silver_tables(spark, settings), shared_tables(spark, settings)
    old_runs = [runs_before(settings, now)] if shared else []
    with progress.task("maintenance: removing", len(silver) + 6, "tables") as task:
        removed = carry_out(session, settings, plan, body, silver, old_runs, task)
    seeds = remove_abandoned_seeds(settings.layout, settings.source, now)
    gold = gold_tables(spark, settings)
    kept = [*gold, *silver, *(common if shared else ())]
    looked = _look_after(session, settings, plan, kept, progress, now)
    changed = [table for table, after in looked if after.changed]
    changed += [table for table in (*silver, *common) if table.reference in removed]
    # What a run did that died, the tables' histories tell.
    all_of_them = [*gold, *silver, *common]
    found = _figures(spark, settings, plan, changed if ledger.wrote(plan) else all_of_them)
    left = [sentence for _, after in looked for sentence in after.left]
    counts = _counts(body, found, seeds)
    record = {
        "counts": counts,
        "tables": {name: one.to_dict() for name, one in found.items()},
        "bronze": body.to_body()["bronze"],
        "silver": body.to_body()["silver"],
        "left": left,
        **sparing,
    }
    ledger.finish(plan, record)
    return Done(plan.batch, counts, (*limits(body), *left))


def limits(body: MaintenancePlan) -> Iterator[str]:
    """Why no more was removed."""
    for name, need in (("silver", body.silver), ("bronze", body.bronze.need)):
        where = f"stays from LSN {need.lsn} on" if need.lsn else "stays whole"
        yield f"{name} {where}: {need.reason}."
    if body.cuts_from:
        yield f"published cuts stay from gold's batch {body.cuts_from} on (retention.cuts)."


def _look_after(
    spark: SparkSession,
    settings: Settings,
    plan: Plan,
    tables: Sequence[Table],
    progress: Progress,
    now: datetime,
) -> list[tuple[Table, LookedAfter]]:
    keeper = Keeper(spark, f"maintenance/{plan.source}", plan.batch)
    with progress.task("maintenance: tables", len(tables), "tables") as task:

        def keep(table: Table) -> LookedAfter:
            try:
                what = due(spark, table, look(spark, table), settings.retention.cuts, now)
                return keeper.keep(table, what)
            except Exception as error:
                damage = met_in(error, table.reference, None) if table.layer == "gold" else None
                if damage is None:
                    raise
                return LookedAfter(False, (f"{table.name} is left alone: {damage.reason}.",))
            finally:
                task.advance()

        with ThreadPoolExecutor(settings.parallel_tables) as pool:
            return list(zip(tables, pool.map(keep, tables), strict=True))


def _figures(
    spark: SparkSession, settings: Settings, plan: Plan, tables: Sequence[Table]
) -> dict[str, Figures]:
    """What was done to each table of which there is something to tell."""
    mine = tag(settings.source, plan.batch)
    with ThreadPoolExecutor(settings.parallel_tables) as pool:
        found = pool.map(lambda table: figures(done(spark, table, mine)), tables)
        told = {table.name: one for table, one in zip(tables, found, strict=True)}
    return {name: one for name, one in told.items() if one != Figures()}


def _counts(body: MaintenancePlan, found: Mapping[str, Figures], seeds: int) -> dict[str, int]:
    """The totals, those that are not 0."""
    cuts = found.get("gold/_cuts", Figures()).rows
    silver = sum(one.rows for name, one in found.items() if name.startswith("silver/"))
    counts = {
        "cuts removed": cuts,
        "binlog files removed": body.bronze.files,
        "rows of silver removed": silver,
        "seeds removed": seeds,
        "records of runs removed": found.get("ledger/runs", Figures()).rows,
        "files put together": sum(one.rewritten_files for one in found.values()),
        "old files deleted": sum(one.vacuumed_files for one in found.values()),
        "bytes deleted": sum(one.vacuumed_bytes for one in found.values()),
    }
    return {name: count for name, count in counts.items() if count}
