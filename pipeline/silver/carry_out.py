"""Carry out one plan of silver; every step is idempotent, for this run and concurrent ones."""

from __future__ import annotations

import uuid
from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from typing import Any

from pipeline.catalog import TableName
from pipeline.catalog.timeline.definitions import append_items
from pipeline.lake import Lake, stores
from pipeline.lake.files.target_writer import Destination, Written
from pipeline.lake.ledger.ledger import Plan
from pipeline.lake.starting import expected
from pipeline.layer import Done, LayerRun
from pipeline.silver.decode import segments
from pipeline.silver.decode.decode import FAULTS, STATEMENTS, TRANSACTIONS, Decode
from pipeline.silver.decode.decoding import (
    SEEN,
    DecodeAndWrite,
    lossy_sentences,
    lossy_values,
    rows_of,
    together,
)
from pipeline.silver.decode.segment_tasks import results
from pipeline.silver.decode.segments import SegmentRef
from pipeline.silver.full_refresh import begin
from pipeline.silver.plan.batch_plan import SilverPlan
from pipeline.silver.plan.progress import require_unclaimed
from pipeline.silver.tables.batch_tables import (
    commit,
    destinations,
    rows_by_table,
    targets_of,
    touched,
)
from pipeline.silver.tables.quarantine import (
    Faults,
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
    # The rows that seeds bring to gold are in no segment.
    expected(run.spark, None if body.seeded else sum(ref.size for ref in refs))
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
        return segments.at(*of_source, [(r.ordinal, r.start_pos) for r in body.retried])
    return segments.between(*of_source, body.start, body.end)


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
    return together(results(run, "decode segments", refs, task, apart=apart), places)


def _quarantine(run: LayerRun, body: SilverPlan, batch: int, faults: Faults) -> list[str]:
    """Write the batch's faults, and resolve those that are none any more; return sentences."""
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
        "cut_lsn": body.cut_lsn,
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
