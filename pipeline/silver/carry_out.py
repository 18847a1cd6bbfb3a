"""Carry out one plan of silver; every step is idempotent, for this run and concurrent ones."""

from __future__ import annotations

import uuid
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

from decoder.errors import UnsupportedError
from pipeline.lake import Lake, stores
from pipeline.lake.delta_log.model import LakeTable
from pipeline.lake.delta_step import Step
from pipeline.lake.files.target_writer import Destination, Written
from pipeline.lake.lazy_spark import FEW_BYTES, start_early
from pipeline.lake.ledger.ledger import Plan
from pipeline.lake.locks.lock import local_path
from pipeline.lake.tables.choice import tables_of
from pipeline.lake.tables.tables import Tables
from pipeline.layer import Done, LayerRun
from pipeline.schema_history import TableName
from pipeline.schema_history.alter.items import KINDS_IGNORED_BY_GOLD
from pipeline.schema_history.timeline.stored_timeline import append_items
from pipeline.silver.decode import segment_refs
from pipeline.silver.decode.decode import (
    FAULTS,
    STAGED_FAULTS,
    STATEMENTS,
    TRANSACTIONS,
    Decode,
    table_target,
)
from pipeline.silver.decode.segment_refs import SegmentRef
from pipeline.silver.decode.segment_tasks import results
from pipeline.silver.decode.silver_tables import (
    changes_app,
    changes_table,
    committer,
    statements_table,
    transactions_table,
)
from pipeline.silver.decode.task_output import (
    SEEN,
    DecodeAndWrite,
    lossy_sentences,
    lossy_values,
    rows_of,
    together,
)
from pipeline.silver.full_refresh import begin
from pipeline.silver.plan.batch_plan import PlannedTable, SilverPlan, by_table_id
from pipeline.silver.plan.progress import require_unclaimed
from pipeline.silver.tables.quarantine import (
    ReadFaults,
    append_faults,
    resolve,
    still_faulty,
    supersede,
)
from pipeline.silver.tables.views import write_views

REFRESH_STARTED = (
    "A full refresh has started: everything is decoded again. Gold keeps its published snapshot"
    " until it has caught up."
)
_WITHOUT_SPARK = frozenset(
    {
        *("create", "observed", "add_columns", "version", "keys", "model", "truncate", "drop"),
        *KINDS_IGNORED_BY_GOLD,
    }
)
"""Kinds of timeline items that gold may apply without Spark."""


def carry_out(run: LayerRun, plan: Plan) -> Done:
    """Carry out a plan and finish it in the ledger.

    If a concurrent run at the same plan finishes first and removes files that this run needs, that
    is not an error: the plan is done.
    """
    try:
        body = SilverPlan.from_body(plan.body)
        run = replace(run, settings=run.settings.with_decoding(body.conf))
        if body.begins is not None:
            begin(run, plan, body)
            return Done(plan=plan, counts={}, notes=(REFRESH_STARTED,))
        return _decode_and_commit(run, plan, body)
    except Exception:
        if not run.ledger.finished_by_another(plan):
            raise
        return Done(plan=plan, counts={})


def remove_leftovers(lake: Lake, source: str, finished: int) -> None:
    """Remove scratch files that dead runs left in the source's batches up to `finished`."""
    folder = f"{lake.staging}/{source}"
    for name in stores.names_in(folder):
        number = name.partition("-")[0]
        if number.isdigit() and int(number) <= finished:
            stores.remove(f"{folder}/{name}")


def _decode_and_commit(run: LayerRun, plan: Plan, body: SilverPlan) -> Done:
    batch = plan.batch
    append_items(run.spark, run.lake, run.source, batch, body.items)
    # Check again: a concurrent run of another source may have planned the same table.
    require_unclaimed(run, body.table_names)
    scratch = f"{run.lake.staging}/{run.source}/{batch}-{uuid.uuid4().hex}"
    targets = targets_of(run, body, batch, scratch)
    refs = _refs(run, body)
    # The rows of seeds are in no segment.
    size = None if body.seeded else sum(ref.size for ref in refs)
    plain = all(item.kind in _WITHOUT_SPARK for item in body.items)
    few = size is not None and size <= FEW_BYTES and plain
    in_reach = run.settings.catalog is None and local_path(run.lake.root) is not None
    start_early(run.spark, size, needed=not (few and in_reach))
    try:
        decoded = _decode(run, body, refs, destinations(targets, scratch), scratch)
        commit(run, decoded, targets, batch)
        tables = touched(body, decoded.counts).values()
        names = ((TableName(t.definition.schema, t.definition.table), t.version) for t in tables)
        unseen = write_views(run.spark, run.lake, names)
        faults = _quarantine(run, body, batch, partial(rows_of, decoded, FAULTS))
    finally:
        stores.remove(scratch)
    lossy, seen = lossy_values(decoded), decoded.counts[SEEN] if body.seen else 0
    record = _record(body, decoded.counts, len(refs)) | {"lossy": lossy, "seen_before": seen}
    run.ledger.finish(plan, record)
    remove_leftovers(run.lake, run.source, batch)
    skipped = [f"{seen} transactions were already in the lake and are skipped."] if seen else []
    notes = (*lossy_sentences(lossy), *skipped, *unseen)
    return Done(plan=plan, counts=record["counts"], faults=tuple(faults), notes=notes)


def _refs(run: LayerRun, body: SilverPlan) -> list[SegmentRef]:
    of_source = run.spark, run.lake, run.source
    if body.retried:
        return segment_refs.at(*of_source, [(r.ordinal, r.start_pos) for r in body.retried])
    return segment_refs.between(*of_source, body.start, body.end)


def _decode(
    run: LayerRun,
    body: SilverPlan,
    refs: list[SegmentRef],
    places: Mapping[str, Destination],
    scratch: str,
) -> Written:
    """Decode all segments of the plan into files that no commit references yet."""
    only = {(r.ordinal, r.start_pos): frozenset(r.lsns) for r in body.retried}
    decode = Decode(
        run.settings.type_options,
        run.settings.wanted,
        body.table_ids,
        only or None,
        body.seen,
        names=body.names,
        again=frozenset(body.again),
        passed=body.passed,
        lower_case=run.settings.lower_case_table_names in (1, 2),
    )
    task = DecodeAndWrite(decode, places, scratch)
    apart = bool(body.retried)
    return together(results(run, "decoding segments", refs, task, apart=apart), places)


def _quarantine(run: LayerRun, body: SilverPlan, batch: int, faults: ReadFaults) -> list[str]:
    """Write the batch's faults, and resolve those that can now be decoded; return sentences."""
    # Faults of retried segments are already in quarantine, unless tables have names by now.
    again = bool(body.again)
    known = body.retried and not again
    found = append_faults(run, batch, (lambda: ()) if known else faults, body.faults, again=again)
    if not body.retried:
        supersede(run, batch, body.seeded)
        return found
    remaining = still_faulty(faults, run.settings.wanted)
    resolve(run, batch, body.retried, remaining, body.again)
    if not remaining:
        return found
    return [*found, f"{len(remaining)} transactions in quarantine still cannot be decoded."]


def _record(body: SilverPlan, counts: Mapping[str, int], decoded: int) -> dict[str, Any]:
    """Return the batch's ledger record: silver's new position, and totals."""
    rows = rows_by_table(body, counts)
    return {
        "to": list(body.end),
        "last_lsn": body.last_lsn,
        "rows": rows,
        "counts": {
            "segments": decoded,
            "rows": sum(rows.values()),
            "tables": len(rows),
            "transactions": counts.get(TRANSACTIONS, 0),
            "statements": counts.get(STATEMENTS, 0),
            "faults": counts.get(FAULTS, 0) + len(body.faults),
        },
    }


# --- the tables of a batch ------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Target:
    """A table that a batch may append to: its writer, application name, and destination."""

    tables: Tables
    app: str
    destination: Destination


def targets_of(run: LayerRun, plan: SilverPlan, batch: int, scratch: str) -> Mapping[str, Target]:
    """Return the tables of a plan, by target.

    Files that Spark appends are written to the batch's `scratch` folder, which a later run clears
    if this one dies. A table with a column that cannot be decoded is not included: all of its
    changes are faults.
    """
    lake, source = run.lake, run.source
    tables = tables_of(run.spark, lake)
    placed = {"source": source, "batch": batch}

    def target(app: str, table: LakeTable, constants: Mapping[str, object]) -> Target:
        by = committer(run.spark, tables, table)
        own = by.folder(table)
        folder = own if own == table.reference else f"{scratch}/{uuid.uuid4().hex}"
        return Target(by, app, Destination(folder, table, constants))

    found = {
        TRANSACTIONS: target(f"silver/{source}/{TRANSACTIONS}", transactions_table(lake), placed),
        STATEMENTS: target(f"silver/{source}/{STATEMENTS}", statements_table(lake), placed),
    }
    for table_id, planned in by_table_id(plan.tables).items():
        definition, version = planned.definition, planned.version
        app = changes_app(source, definition.schema, definition.table, version)
        try:
            table = changes_table(lake, definition, version, run.settings.type_options)
        except UnsupportedError:
            continue
        found[table_target(table_id)] = target(app, table, {})
    return found


def destinations(targets: Mapping[str, Target], scratch: str) -> Mapping[str, Destination]:
    """Return the destinations of tasks; faults go to `scratch` until all of them are known."""
    faults = Destination(scratch, LakeTable(scratch, STAGED_FAULTS))
    return {name: target.destination for name, target in targets.items()} | {FAULTS: faults}


def commit(run: LayerRun, decoded: Written, targets: Mapping[str, Target], batch: int) -> None:
    """Append to every table its files and rows."""
    names = [name for name in targets if name in decoded.files or name in decoded.rest]

    def add(name: str) -> None:
        target = targets[name]
        step = Step(target.app, batch)
        table = target.destination.table
        files, rest = decoded.files.get(name, ()), decoded.rest.get(name)
        target.tables.append(table, rest, step, files)
        task.advance()

    with (
        run.progress.task("writing silver tables", len(names), "tables") as task,
        ThreadPoolExecutor(run.settings.parallel_tables) as pool,
    ):
        # list() raises the first error of any of them
        list(pool.map(add, names))


def touched(plan: SilverPlan, counts: Mapping[str, int]) -> dict[int, PlannedTable]:
    """Return the tables with changes in a batch, by their number in the plan."""
    return {
        table_id: table
        for table_id, table in by_table_id(plan.tables).items()
        if counts.get(table_target(table_id))
    }


def rows_by_table(plan: SilverPlan, counts: Mapping[str, int]) -> dict[str, int]:
    """Return the number of changes per table, by `schema.table`."""
    rows: dict[str, int] = {}
    for table_id, table in touched(plan, counts).items():
        name = str(table.definition)
        rows[name] = rows.get(name, 0) + counts[table_target(table_id)]
    return rows
