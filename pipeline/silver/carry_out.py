"""Carry out one plan of silver; every step is idempotent, for this run and concurrent ones."""

from __future__ import annotations

import uuid
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from pipeline.catalog import TableName
from pipeline.catalog.timeline.definitions import append_items
from pipeline.lake import Lake, Ledger, stores
from pipeline.lake.files.target_writer import Destination
from pipeline.lake.ledger.ledger import Plan
from pipeline.lake.starting import Spark, expected
from pipeline.observe import Progress
from pipeline.settings import Settings
from pipeline.silver.decode import segments
from pipeline.silver.decode.decode import FAULTS, STATEMENTS, TRANSACTIONS, Decode
from pipeline.silver.decode.decoding import SEEN, DecodeAndWrite, Decoded, together
from pipeline.silver.decode.lossy_counts import sentences
from pipeline.silver.decode.segment_tasks import Work, results
from pipeline.silver.decode.segments import SegmentRef
from pipeline.silver.full_refresh import begin
from pipeline.silver.plan.batch_plan import SilverPlan
from pipeline.silver.plan.table_owner import require_unclaimed
from pipeline.silver.tables.batch_tables import (
    DecodedFaults,
    Target,
    commit,
    destinations,
    rows_by_table,
    targets_of,
    touched,
)
from pipeline.silver.tables.quarantine import append_faults, resolve, still_faulty, supersede
from pipeline.silver.tables.views import write_views

REFRESH_STARTED = (
    "A full refresh has started: everything is decoded again. Gold keeps its published snapshot"
    " until it has caught up."
)


@dataclass(frozen=True, slots=True)
class Done:
    """The result of a plan: totals by name, and sentences about its faults and lossy values."""

    batch: int
    counts: Mapping[str, int]
    faults: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()


def execute(
    spark: Spark, settings: Settings, ledger: Ledger, plan: Plan, progress: Progress
) -> Done:
    """Carry out a plan and finish it in the ledger.

    If a concurrent run at the same plan finishes first and removes files that this run needs, that
    is not an error: the plan is done.
    """
    try:
        return _Batch(spark, settings, ledger, plan, progress).run()
    except Exception:
        if not ledger.finished_by_another(plan):
            raise
        return Done(plan.batch, {})


def remove_leftovers(lake: Lake, source: str, finished: int) -> None:
    """Remove scratch files that dead runs left in the source's batches up to `finished`."""
    folder = f"{lake.staging}/{source}"
    for name in stores.names_in(folder):
        number = name.partition("-")[0]
        if number.isdigit() and int(number) <= finished:
            stores.remove(f"{folder}/{name}")


class _Batch:
    def __init__(
        self,
        spark: Spark,
        settings: Settings,
        ledger: Ledger,
        plan: Plan,
        progress: Progress,
    ) -> None:
        self.spark = spark
        self.body = SilverPlan.from_body(plan.body)
        self.settings = settings.with_decoding(self.body.conf)
        self.ledger = ledger
        self.plan = plan
        self.progress = progress
        self.lake = settings.layout

    def run(self) -> Done:
        if self.body.begins is not None:
            begin(self.spark, self.settings, self.ledger, self.plan, self.body)
            return Done(self.plan.batch, {}, notes=(REFRESH_STARTED,))
        batch, source = self.plan.batch, self.settings.source
        append_items(self.spark, self.lake, source, batch, self.body.items)
        # Check again: a concurrent run of another source may have planned the same table.
        require_unclaimed(self.spark, self.ledger, self.body.table_names)
        scratch = f"{self.lake.staging}/{source}/{batch}-{uuid.uuid4().hex}"
        targets = targets_of(self.spark, self.settings, self.body, batch, scratch)
        refs = self._refs()
        # The rows that seeds bring to gold are in no segment.
        new = None if self.body.seeded else sum(ref.size for ref in refs)
        expected(self.spark, new)
        try:
            decoded = self._decode(refs, destinations(targets, scratch), scratch)
            self._commit(decoded, targets)
            unseen = self._write_views(decoded.counts)
            faults = self._faults(DecodedFaults(decoded))
        finally:
            stores.remove(scratch)
        lossy, seen = decoded.lossy(), decoded.counts.get(SEEN, 0) if self.body.seen else 0
        losses = {"lossy": lossy, "seen_before": seen}
        record = self._record(decoded.counts, len(refs)) | losses
        self.ledger.finish(self.plan, record)
        remove_leftovers(self.lake, source, batch)
        return Done(
            batch, record["counts"], tuple(faults), (*sentences(lossy), *_skipped(seen), *unseen)
        )

    def _refs(self) -> list[SegmentRef]:
        place = self.spark, self.lake, self.settings.source
        if self.body.retried:
            return segments.at(*place, [(r.ordinal, r.start_pos) for r in self.body.retried])
        return segments.between(*place, self.body.start, self.body.end)

    def _decode(
        self, refs: list[SegmentRef], places: Mapping[str, Destination], scratch: str
    ) -> Decoded:
        """Decode all segments of the plan into files that no commit references yet."""
        work = Work("decode segments", refs, apart=bool(self.body.retried))
        task = DecodeAndWrite(self._decoding(), places, scratch)
        return together(results(self.spark, self.settings, work, task, self.progress), places)

    def _decoding(self) -> Decode:
        only = {(r.ordinal, r.start_pos): frozenset(r.lsns) for r in self.body.retried}
        return Decode(
            self.settings.type_options,
            self.settings.wanted,
            self.body.table_ids,
            only if self.body.retried else None,
            self.body.seen,
            names=self.body.names,
            again=frozenset(self.body.again),
            passed=self.body.passed,
            lower_case=self.settings.lower_case_table_names in (1, 2),
        )

    def _commit(self, decoded: Decoded, targets: Mapping[str, Target]) -> None:
        tables = sum(map(decoded.has, targets))
        with self.progress.task("write silver tables", tables, "tables") as task:
            commit(decoded, targets, self.settings, self.plan.batch, task)

    def _write_views(self, counts: Mapping[str, int]) -> list[str]:
        tables = touched(self.body, counts).values()
        names = ((TableName(t.definition.schema, t.definition.table), t.version) for t in tables)
        return write_views(self.spark, self.lake, names)

    def _faults(self, faults: DecodedFaults) -> list[str]:
        source, batch = self.settings.source, self.plan.batch
        # Faults of retried segments are already in quarantine, unless tables have names by now.
        again = bool(self.body.again)
        known = self.body.retried and not again
        found = append_faults(
            self.spark, self.settings, batch, [] if known else faults, self.body.faults, again=again
        )
        if not self.body.retried:
            supersede(self.spark, self.lake, source, batch, self.body.seeded)
            return found
        remaining = still_faulty(faults, self.settings.wanted)
        resolve(self.spark, self.lake, source, batch, self.body.retried, remaining, self.body.again)
        if not remaining:
            return found
        return [*found, f"{len(remaining)} transactions in quarantine still cannot be decoded."]

    def _record(self, counts: Mapping[str, int], decoded: int) -> dict[str, Any]:
        """Return the batch's ledger record: silver's new position, and totals."""
        rows = rows_by_table(self.body, counts)
        return {
            "to": list(self.body.end),
            "cut_lsn": self.body.cut_lsn,
            "rows": rows,
            "counts": {
                "segments": decoded,
                "rows": sum(rows.values()),
                "tables": len(rows),
                "transactions": counts.get(TRANSACTIONS, 0),
                "statements": counts.get(STATEMENTS, 0),
                "faults": counts.get(FAULTS, 0) + len(self.body.faults),
            },
        }


def _skipped(seen: int) -> list[str]:
    """Return a sentence about the transactions that were skipped, if any."""
    return [f"{seen} transactions were already in the lake and are skipped."] if seen else []
