"""Remove the rows in a maintenance plan: one idempotent commit for each table.

Published cuts are removed first, so that no cut is left whose versions have lost files. In silver,
changes are removed before transactions, since a transaction's row may say that its changes were
rolled back. Some history is kept forever: the timeline, the rows of `bronze/files`, transactions
seen before in logs that bronze has, and DDL of foreign keys, triggers and routines.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from datetime import datetime, timedelta, timezone

from pipeline.bronze.tables import segments_table
from pipeline.catalog.timeline.consequences import CONSEQUENCES_PATTERN
from pipeline.gold.cascades.store import cascades_table
from pipeline.gold.plan.published_cuts import cuts_table
from pipeline.lake import Ledger
from pipeline.lake.delta_log.conditions import (
    Condition,
    among,
    any_of,
    compare,
    equal,
    matches,
    missing,
)
from pipeline.lake.delta_log.table import LakeTable, Step
from pipeline.lake.ledger.ledger import Plan
from pipeline.lake.ledger.run_store import runs
from pipeline.lake.starting import Spark
from pipeline.lake.tables.tables import Tables
from pipeline.maintenance.plan import MaintenancePlan
from pipeline.maintenance.record import tag
from pipeline.maintenance.tables import Table
from pipeline.observe.progress import Task
from pipeline.settings import Settings
from pipeline.silver.decode.silver_tables import (
    committer,
    quarantine_table,
    statements_table,
    transactions_table,
)


@dataclass(frozen=True, slots=True)
class Removal:
    """Rows of one table to remove; `name`: the table's path in the lake, also the step's name."""

    name: str
    table: LakeTable
    where: Condition


def carry_out(
    spark: Spark,
    tables: Tables,
    settings: Settings,
    plan: Plan,
    body: MaintenancePlan,
    silver: Sequence[Table],
    common: Sequence[Removal],
    task: Task,
) -> set[str]:
    """Execute all removals not done yet; return the names of the tables that lost rows.

    `common`: removals from tables that sources share.
    """
    touched: set[str] = set()

    def remove(removal: Removal) -> None:
        note = tag(plan.source, plan.batch)
        step = Step(f"maintenance/{plan.source}/{removal.name}", plan.batch, note)
        if committer(spark, tables, removal.table).delete(removal.table, removal.where, step):
            touched.add(removal.name)
        task.advance()

    # list() raises the first error of any removal.
    for removal in cuts_before(settings, body):
        remove(removal)
    with ThreadPoolExecutor(settings.parallel_tables) as pool:
        list(pool.map(remove, changes_before(body, silver)))
    for removal in (*_others(tables, settings, body), *common):
        remove(removal)
    return touched


def runs_before(settings: Settings, now: datetime) -> Removal:
    """Return the removal of all sources' run records older than `keep_runs`: whole partitions."""
    first = now.astimezone(timezone.utc).date() - timedelta(days=settings.keep_runs)
    return Removal("ledger/runs", runs(settings.layout), compare("day", "<", first))


def removals(
    tables: Tables, settings: Settings, body: MaintenancePlan, silver: Sequence[Table]
) -> Iterator[Removal]:
    """Yield all removals of a plan, in order."""
    yield from cuts_before(settings, body)
    yield from changes_before(body, silver)
    yield from _others(tables, settings, body)


def cuts_before(settings: Settings, body: MaintenancePlan) -> Iterator[Removal]:
    """Yield the removal of cuts before `cuts_from`."""
    if body.cuts_from:
        old = _of(settings) & compare("batch", "<", body.cuts_from)
        yield Removal("gold/_cuts", cuts_table(settings.layout), old)


def changes_before(body: MaintenancePlan, silver: Sequence[Table]) -> Iterator[Removal]:
    """Yield the removal of each table's changes before silver's limit."""
    if body.silver.lsn:
        for table in silver:
            yield Removal(table.name, table.stored, compare("__lsn", "<", body.silver.lsn))


def _others(tables: Tables, settings: Settings, body: MaintenancePlan) -> Iterator[Removal]:
    yield from _of_silver(settings, body)
    yield from _of_bronze(settings, body)
    if names := _cascades(tables, settings, body):
        where = _of(settings) & among("name", names)
        yield Removal("gold/_cascades", cascades_table(settings.layout), where)


def _of_silver(settings: Settings, body: MaintenancePlan) -> Iterator[Removal]:
    """Yield the removals of transactions, statements and resolved faults before the limit."""
    lake, before = settings.layout, body.silver.lsn
    if not before:
        return
    old = _of(settings) & compare("__lsn", "<", before)
    # While bronze has the log, decoding it again needs the transactions seen before.
    new = missing("seen_before") | equal("seen_before", False)
    unneeded = new | compare("__lsn", "<", body.bronze.need.lsn)
    yield Removal("silver/transactions", transactions_table(lake), old & unneeded)
    inconsequential = missing("query") | ~matches("query", CONSEQUENCES_PATTERN)
    yield Removal("silver/statements", statements_table(lake), old & inconsequential)
    resolved = old & ~missing("resolved_batch")
    yield Removal("silver/quarantine", quarantine_table(lake), resolved)


def _of(settings: Settings) -> Condition:
    return equal("source", settings.source)


def _of_bronze(settings: Settings, body: MaintenancePlan) -> Iterator[Removal]:
    """Yield the removal of the bytes of whole files."""
    if not body.bronze.runs:
        return
    files = [
        compare("ordinal", ">=", first) & compare("ordinal", "<=", last)
        for first, last in body.bronze.runs
    ]
    where = _of(settings) & any_of(files)
    yield Removal("bronze/segments", segments_table(settings.layout), where)


def _cascades(tables: Tables, settings: Settings, body: MaintenancePlan) -> list[str]:
    """Return the names of stored cascades of gold's batches up to `cascades_upto`."""
    if not body.cascades_upto:
        return []
    kept = tables.read(cascades_table(settings.layout), columns=["name"]).column("name")
    there = set(kept.unique().to_pylist())
    plans = Ledger.of(tables, settings.source).planned("gold", 1, body.cascades_upto)
    return sorted(there.intersection(plan.get("cascades") for plan in plans)) if there else []
