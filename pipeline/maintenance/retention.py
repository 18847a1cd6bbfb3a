"""Remove the rows in a maintenance plan: one idempotent commit for each table.

Published snapshots are removed first, so that no remaining one has lost files. In silver,
changes are removed before transactions, since a transaction's row may say that its changes were
rolled back. Some history is kept forever: the timeline, the rows of `bronze/files`, transactions
seen before in logs that bronze has, and DDL of foreign keys, triggers and routines.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from datetime import datetime, timedelta, timezone
from itertools import chain

from pipeline.bronze.tables import segments_table
from pipeline.gold.cascades.cascades_table import cascades_table
from pipeline.gold.plan.cuts_table import cuts_table
from pipeline.lake.delta_log.conditions import (
    Condition,
    among,
    any_of,
    compare,
    equal,
    matches,
    missing,
)
from pipeline.lake.delta_log.model import LakeTable
from pipeline.lake.delta_step import Step
from pipeline.lake.ledger.run_store import runs
from pipeline.layer import LayerRun
from pipeline.maintenance.removals import MaintenancePlan
from pipeline.maintenance.tables import Table
from pipeline.schema_history.timeline.consequences import CONSEQUENCES_PATTERN
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
    run: LayerRun,
    body: MaintenancePlan,
    silver: Sequence[Table],
    common: Sequence[Removal],
    batch: int,
    note: str,
) -> set[str]:
    """Execute all removals not done yet; return the names of the tables that lost rows.

    `common`: removals from tables that sources share. `note`: the user metadata of the commits.
    """
    touched: set[str] = set()
    with run.progress.task("removing expired rows", len(silver) + 6, "tables") as task:

        def remove(removal: Removal) -> None:
            by = committer(run.spark, run.ledger.tables, removal.table)
            step = Step(f"maintenance/{run.source}/{removal.name}", batch, note)
            if by.delete(removal.table, removal.where, step):
                touched.add(removal.name)
            task.advance()

        with ThreadPoolExecutor(run.settings.parallel_tables) as pool:
            for stage in chain(removals(run, body, silver), [common]):
                # A single one runs in this thread, where a signal ends it at once. list() raises
                # the first error of any removal.
                list(pool.map(remove, stage) if len(stage) > 1 else map(remove, stage))
    return touched


def runs_before(settings: Settings, now: datetime) -> Removal:
    """Return the removal of all sources' run records older than `keep_runs`: whole partitions."""
    first = now.astimezone(timezone.utc).date() - timedelta(days=settings.keep_runs)
    return Removal("ledger/runs", runs(settings.layout), compare("day", "<", first))


def removals(
    run: LayerRun, body: MaintenancePlan, silver: Sequence[Table]
) -> Iterator[Sequence[Removal]]:
    """Yield all removals of a plan, in order, in groups that may be done in parallel."""
    lake, own, before = run.lake, equal("source", run.source), body.silver.before_lsn
    if body.cuts_from:
        old = own & compare("batch", "<", body.cuts_from)
        yield [Removal("gold/_cuts", cuts_table(lake), old)]
    if before:
        earlier = compare("__lsn", "<", before)
        yield [Removal(table.name, table.stored, earlier) for table in silver]
        # While bronze has the log, decoding it again needs the transactions seen before.
        new = missing("seen_before") | equal("seen_before", False)
        unneeded = new | compare("__lsn", "<", body.bronze.before_lsn)
        old = own & earlier & unneeded
        yield [Removal("silver/transactions", transactions_table(lake), old)]
        inconsequential = missing("query") | ~matches("query", CONSEQUENCES_PATTERN)
        old = own & earlier & inconsequential
        yield [Removal("silver/statements", statements_table(lake), old)]
        resolved = own & earlier & ~missing("resolved_batch")
        yield [Removal("silver/quarantine", quarantine_table(lake), resolved)]
    if body.bronze.files:
        files = [
            compare("ordinal", ">=", first) & compare("ordinal", "<=", last)
            for first, last in body.bronze.files
        ]
        yield [Removal("bronze/segments", segments_table(lake), own & any_of(files))]
    if names := _cascades(run, body.cascades_upto):
        yield [Removal("gold/_cascades", cascades_table(lake), own & among("name", names))]


def _cascades(run: LayerRun, upto: int) -> list[str]:
    """Return the names of stored cascades of gold's batches up to `upto`."""
    if not upto:
        return []
    kept = run.ledger.tables.read(cascades_table(run.lake), columns=["name"]).column("name")
    there = set(kept.unique().to_pylist())
    plans = run.ledger.planned("gold", 1, upto)
    return sorted(there.intersection(plan.get("cascades") for plan in plans)) if there else []
