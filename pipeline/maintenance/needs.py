"""Plan the next maintenance batch from what a source's layers still need."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime, timedelta

import pyarrow.compute as pc

from pipeline.bronze import read_files
from pipeline.bronze.files import stored_ordinals
from pipeline.bronze.tables import FileRow
from pipeline.gold import GoldState
from pipeline.gold.plan.cuts_table import cuts_table
from pipeline.gold.plan.rebuild import refresh_under_way
from pipeline.lake import Ledger
from pipeline.lake.delta_log.conditions import compare, equal
from pipeline.lake.ledger.history_removed import Removed, removed
from pipeline.lake.ledger.ledger_table import FINISHED
from pipeline.layer import LayerRun
from pipeline.maintenance.removals import (
    FROM_START,
    MaintenancePlan,
    Need,
    bronze_files,
    first_kept,
    first_young,
)
from pipeline.schema_history.alter.items import in_force
from pipeline.schema_history.timeline.stored_timeline import read_items
from pipeline.silver.decode.segment_refs import lsn_of
from pipeline.silver.decode.silver_tables import transactions_table
from pipeline.silver.plan.batch_plan import SilverPlan
from pipeline.silver.plan.late_names import unnamed
from pipeline.silver.plan.stored_seeds import seed_ids
from pipeline.silver.plan.take_seeds import waiting
from pipeline.silver.tables.quarantine import retryable

Finished = Mapping[tuple[str, int], datetime]
"""Times at which batches were finished, by layer and batch number."""


def plan_next(run: LayerRun, now: datetime) -> MaintenancePlan:
    """Return the next plan; it may remove nothing."""
    ledger, keep = run.ledger, run.settings.retention
    finished = {
        (entry.layer, entry.batch): entry.at
        for entry in ledger.history()
        if entry.state == FINISHED
    }
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
    rows = ledger.tables.read(cuts_table(run.lake), equal("source", run.source), ["batch"])
    cuts = {batch: finished.get(("gold", batch)) for batch in rows.column("batch").to_pylist()}
    applied = ledger.last("gold")
    return MaintenancePlan(
        first_kept(cuts, now, keep.cuts),
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


def _last_commit(run: LayerRun, before: int) -> int:
    """Return the latest original commit time of the transactions before an LSN.

    In microseconds since 1970; 0 if there are none.
    """
    within = equal("source", run.source) & compare("__lsn", "<", before)
    columns = ["original_committed_at", "committed_at"]
    rows = run.ledger.tables.read(transactions_table(run.lake), within, columns)
    last = pc.max(pc.coalesce(*rows.itercolumns()).cast("int64")).as_py()
    return last or 0


# --- needs ----------------------------------------------------------------------------------------


def gold_needs(ledger: Ledger) -> Iterator[Need]:
    """Yield the needs of gold: changes not applied yet, or that may have to be applied again."""
    if ledger.last("gold") is None:
        yield Need(FROM_START, "gold has applied nothing yet")
        return
    state = GoldState.of(ledger)
    if refresh_under_way(ledger):
        yield Need(FROM_START, "a full refresh is in progress")
    yield Need(state.cut_lsn + 1, "gold has not applied the rest yet")
    for table in state.tables.values():
        if table.held:
            yield Need(table.to_lsn + 1, f"{table.name} is held there: {table.held}")
    if 0 < state.xa_from <= state.cut_lsn:
        yield Need(state.xa_from, "an XA transaction prepared there is still open")
    if plan := ledger.open("gold"):
        moving = (t.from_lsn for t in GoldState.from_body(plan.body).tables.values() if t.touched)
        why = f"gold's batch {plan.batch} is in progress, or was interrupted and will be resumed"
        yield Need(min(moving, default=state.cut_lsn) + 1, why)


def seed_needs(run: LayerRun, files: Sequence[FileRow]) -> Iterator[Need]:
    """Yield the needs of seeds: the log since their rows were read, until gold has loaded them."""
    if not seed_ids(run.lake, run.source):
        return
    items = in_force(read_items(run.spark, run.lake, run.source))
    tables = GoldState.of(run.ledger).tables
    for item in {item.name: item for item in items if item.seed}.values():
        table = tables.get(item.name)
        if item.seed and (table is None or table.to_lsn < item.lsn or table.seed != item.seed.id):
            first = item.seed.lsn + 1
            yield Need(first, f"the initial snapshot of {item.name} is not in gold yet")
    for seed in waiting(run.settings, items):
        places = [lsn_of((row.ordinal, 0)) for row in files if row.file == seed.first[0]]
        if places:
            # If several files have this name, only silver knows which one it is: keep all.
            why = f"silver has not used the initial snapshot of {seed.name} yet"
            yield Need(min(places) | seed.first[1], why)


def decoding_needs(ledger: Ledger) -> Iterator[Need]:
    """Yield the needs of decoding: log not decoded yet, or to be decoded again."""
    last = ledger.last("silver")
    if last is None:
        yield Need(FROM_START, "silver has decoded nothing yet")
        return
    previous = SilverPlan.from_body(last.body)
    if refresh_under_way(ledger):
        yield Need(FROM_START, "a full refresh is in progress")
    yield Need(lsn_of(previous.end), "silver has not decoded the rest yet")
    if plan := ledger.open("silver"):
        body = SilverPlan.from_body(plan.body)
        places = [body.start, *((one.ordinal, one.start_pos) for one in body.retried)]
        why = f"silver's batch {plan.batch} is in progress, or was interrupted and will be resumed"
        yield Need(lsn_of(min(places)), why)


def name_needs(run: LayerRun) -> Iterator[Need]:
    """Yield the needs of tables with unknown column names.

    Once these are known, the tables are decoded from the log's start.
    """
    items = in_force(read_items(run.spark, run.lake, run.source))
    for name in sorted(unnamed(items)):
        if run.settings.wanted(name.schema, name.table):
            why = (
                f"the column names of {name} are unknown, and it is decoded from the log's start"
                " once they are known: provide its definition, or exclude it"
            )
            yield Need(FROM_START, why)


def silver_age(ledger: Ledger, finished: Finished, now: datetime, keep: timedelta | None) -> Need:
    """Return silver's need by age: all after the last batch older than `keep`."""
    if keep is None:
        return Need(FROM_START, "retention.silver is forever")
    old = [
        batch for (layer, batch), at in finished.items() if layer == "silver" and at < now - keep
    ]
    last = max(old, default=0)
    lsns = [body["last_lsn"] for body in ledger.planned("silver", last, last)] if old else []
    why = f"the rest was decoded less than {_in_words(keep)} ago (retention.silver)"
    return Need(lsns[0] + 1 if lsns else FROM_START, why)


def bronze_age(
    files: tuple[FileRow, ...], finished: Finished, now: datetime, keep: timedelta | None
) -> Need:
    """Return bronze's need by age: from the first file ingested within `keep` on."""
    if keep is None:
        return Need(FROM_START, "retention.bronze is forever")
    old = {
        batch for (layer, batch), at in finished.items() if layer == "bronze" and at < now - keep
    }
    why = f"the rest was ingested less than {_in_words(keep)} ago (retention.bronze)"
    return Need(first_young(files, old), why)


def _in_words(keep: timedelta) -> str:
    hours = keep // timedelta(hours=1)
    return f"{hours} hours" if hours % 24 else f"{hours // 24} days"
