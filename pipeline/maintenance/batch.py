"""Carrying out one plan of maintenance: what goes, then each table's upkeep, then the record."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from datetime import datetime

from pipeline.errors import UnreachableError
from pipeline.gold.plan.rebuild import refresh_under_way
from pipeline.gold.table.damage import met_in
from pipeline.lake import Ledger
from pipeline.lake.ledger.history_removed import SPARED, spared
from pipeline.lake.ledger.ledger import Plan
from pipeline.lake.starting import Spark
from pipeline.lake.tables.tables import Tables
from pipeline.maintenance.plan import MaintenancePlan
from pipeline.maintenance.record import Figures, figures, tag
from pipeline.maintenance.retention import carry_out, runs_before
from pipeline.maintenance.scratch import remove_abandoned_scratch
from pipeline.maintenance.seeds import remove_abandoned_seeds
from pipeline.maintenance.tables import Table, gold_tables, shared_tables, silver_tables
from pipeline.maintenance.upkeep import Keeper, LookedAfter, done, due, look
from pipeline.observe import Progress
from pipeline.settings import Settings

SPARED_FOR = "a full refresh is under way"


@dataclass(frozen=True, slots=True)
class Done:
    """What a batch did: totals by name, sentences about where limits are and what is left."""

    batch: int
    counts: Mapping[str, int] = field(default_factory=dict)
    notes: tuple[str, ...] = ()


def execute(
    spark: Spark,
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
    tables = ledger.tables
    silver = silver_tables(spark, tables, settings)
    common = shared_tables(spark, tables, settings)
    old_runs = [runs_before(settings, now)] if shared else []
    with progress.task("maintenance: removing", len(silver) + 6, "tables") as task:
        removed = carry_out(spark, tables, settings, plan, body, silver, old_runs, task)
    seeds = remove_abandoned_seeds(settings.layout, settings.source, now)
    scratch = remove_abandoned_scratch(settings.layout, now) if shared else 0
    gold = gold_tables(tables, settings)
    kept = [*gold, *silver, *(common if shared else ())]
    looked = _look_after(spark, tables, settings, plan, kept, progress, now)
    changed = [table for table, after in looked if after.changed]
    changed += [table for table in (*silver, *common) if table.name in removed]
    # What a run did that died is in the tables' histories.
    all_of_them = [*gold, *silver, *common]
    which = changed if ledger.wrote(plan) else all_of_them
    found = _figures(spark, tables, settings, plan, which)
    left = [sentence for _, after in looked for sentence in after.left]
    counts = _counts(body, found, seeds, scratch)
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
    spark: Spark,
    lake_tables: Tables,
    settings: Settings,
    plan: Plan,
    tables: Sequence[Table],
    progress: Progress,
    now: datetime,
) -> list[tuple[Table, LookedAfter]]:
    keeper = Keeper(spark, lake_tables, tag(plan.source, plan.batch))
    with progress.task("maintenance: tables", len(tables), "tables") as task:

        def keep(table: Table) -> LookedAfter:
            try:
                looked = look(table.seen_by(spark, lake_tables), table)
                if looked is None:
                    return LookedAfter(False)  # a run of gold says that it is gone
                what = due(spark, table, looked, settings.retention.cuts, now)
                return keeper.keep(table, what)
            except Exception as error:
                reason = why_left_alone(table, error)
                if reason is None:
                    raise
                return LookedAfter(False, (f"{table.name} is left alone: {reason}.",))
            finally:
                task.advance()

        with ThreadPoolExecutor(settings.parallel_tables) as pool:
            return list(zip(tables, pool.map(keep, tables), strict=True))


def why_left_alone(table: Table, error: Exception) -> str | None:
    """Why an error keeps only one gold table from being looked after; None for any other error."""
    if table.named is None:
        return None
    if isinstance(error, UnreachableError):
        return error.reason.rstrip(".")  # its log cannot be read: others' can
    damage = met_in(error, table.stored.reference, None)
    return None if damage is None else damage.reason


def _figures(
    spark: Spark, lake_tables: Tables, settings: Settings, plan: Plan, tables: Sequence[Table]
) -> dict[str, Figures]:
    """What was done to each table of which there is something to tell."""
    mine = tag(settings.source, plan.batch)

    def figures_of(table: Table) -> Figures:
        try:
            return figures(done(table.seen_by(spark, lake_tables), table, mine))
        except Exception as error:
            if why_left_alone(table, error) is None:
                raise
            return Figures()

    with ThreadPoolExecutor(settings.parallel_tables) as pool:
        found = pool.map(figures_of, tables)
        told = {table.name: one for table, one in zip(tables, found, strict=True)}
    return {name: one for name, one in told.items() if one != Figures()}


def _counts(
    body: MaintenancePlan, found: Mapping[str, Figures], seeds: int, scratch: int
) -> dict[str, int]:
    """The totals, those that are not 0."""
    cuts = found.get("gold/_cuts", Figures()).rows
    silver = sum(one.rows for name, one in found.items() if name.startswith("silver/"))
    counts = {
        "cuts removed": cuts,
        "binlog files removed": body.bronze.files,
        "rows of silver removed": silver,
        "seeds removed": seeds,
        "scratch folders removed": scratch,
        "records of runs removed": found.get("ledger/runs", Figures()).rows,
        "files put together": sum(one.rewritten_files for one in found.values()),
        "old files deleted": sum(one.vacuumed_files for one in found.values()),
        "bytes deleted": sum(one.vacuumed_bytes for one in found.values()),
    }
    return {name: count for name, count in counts.items() if count}
