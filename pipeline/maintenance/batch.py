"""Execute one maintenance plan: removals, then the upkeep of each table, then the record."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from datetime import datetime

from pipeline.errors import UnreachableError
from pipeline.gold.plan.rebuild import refresh_under_way
from pipeline.gold.table.damage import damage_in
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
from pipeline.maintenance.upkeep import Keeper, UpkeepResult, done, due, read_details
from pipeline.observe import Progress
from pipeline.settings import Settings

SPARING_REASON = "a full refresh is under way"


@dataclass(frozen=True, slots=True)
class Done:
    """The result of a batch: totals by name, and notes about its limits and skipped steps."""

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
    """Execute the plan, maintain the source's tables, and record the result.

    `shared`: also maintain the tables that sources share. Another run may finish the plan first.
    """
    body = MaintenancePlan.from_body(plan.body)
    # A full refresh that began after the planning needs what the plan would remove.
    ledger.refresh()
    sparing = spared(ledger, plan) if refresh_under_way(ledger) else {SPARED: False}
    body = body.sparing(SPARING_REASON) if sparing[SPARED] else body
    tables = ledger.tables
    silver = silver_tables(spark, tables, settings)
    common = shared_tables(spark, tables, settings)
    old_runs = [runs_before(settings, now)] if shared else []
    with progress.task("maintenance: removing rows", len(silver) + 6, "tables") as task:
        removed = carry_out(spark, tables, settings, plan, body, silver, old_runs, task)
    seeds = remove_abandoned_seeds(settings.layout, settings.source, now)
    scratch = remove_abandoned_scratch(settings.layout, now) if shared else 0
    gold = gold_tables(tables, settings)
    maintained = [*gold, *silver, *(common if shared else ())]
    results = _maintain(spark, tables, settings, plan, maintained, progress, now)
    changed = [table for table, result in results if result.changed]
    changed += [table for table in (*silver, *common) if table.name in removed]
    # The tables' histories also have the commits of an interrupted run.
    all_tables = [*gold, *silver, *common]
    which = changed if ledger.wrote(plan) else all_tables
    found = _figures(spark, tables, settings, plan, which)
    left = [sentence for _, result in results for sentence in result.left]
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
    """Yield up to where each layer is kept, and why."""
    for name, need in (("silver", body.silver), ("bronze", body.bronze.need)):
        kept = f"{name} is kept from LSN {need.lsn} on" if need.lsn else f"all of {name} is kept"
        yield f"{kept}: {need.reason}."
    if body.cuts_from:
        yield f"published cuts are kept from gold's batch {body.cuts_from} on (retention.cuts)."


def _maintain(
    spark: Spark,
    lake_tables: Tables,
    settings: Settings,
    plan: Plan,
    tables: Sequence[Table],
    progress: Progress,
    now: datetime,
) -> list[tuple[Table, UpkeepResult]]:
    keeper = Keeper(spark, lake_tables, tag(plan.source, plan.batch))
    with progress.task("maintenance: tables", len(tables), "tables") as task:

        def keep(table: Table) -> UpkeepResult:
            try:
                details = read_details(table.tables_for_reading(spark, lake_tables), table)
                if details is None:
                    return UpkeepResult(False)  # gold's next run reports that it is missing
                what = due(spark, table, details, settings.retention.cuts, now)
                return keeper.keep(table, what)
            except Exception as error:
                reason = skip_reason(table, error)
                if reason is None:
                    raise
                return UpkeepResult(False, (f"{table.name} was skipped: {reason}.",))
            finally:
                task.advance()

        with ThreadPoolExecutor(settings.parallel_tables) as pool:
            return list(zip(tables, pool.map(keep, tables), strict=True))


def skip_reason(table: Table, error: Exception) -> str | None:
    """Return the reason to skip a gold table whose files are damaged; None for other errors."""
    if table.named is None:
        return None
    if isinstance(error, UnreachableError):
        return error.reason.rstrip(".")  # only this table's log cannot be read
    damage = damage_in(error, table.stored.reference, None)
    return None if damage is None else damage.reason


def _figures(
    spark: Spark, lake_tables: Tables, settings: Settings, plan: Plan, tables: Sequence[Table]
) -> dict[str, Figures]:
    """Return what the batch did to each table, without those it did nothing to."""
    mine = tag(settings.source, plan.batch)

    def figures_of(table: Table) -> Figures:
        try:
            return figures(done(table.tables_for_reading(spark, lake_tables), table, mine))
        except Exception as error:
            if skip_reason(table, error) is None:
                raise
            return Figures()

    with ThreadPoolExecutor(settings.parallel_tables) as pool:
        found = pool.map(figures_of, tables)
        by_name = {table.name: one for table, one in zip(tables, found, strict=True)}
    return {name: one for name, one in by_name.items() if one != Figures()}


def _counts(
    body: MaintenancePlan, found: Mapping[str, Figures], seeds: int, scratch: int
) -> dict[str, int]:
    """Return the totals by name, without those that are 0."""
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
