"""Carrying out one plan of silver: every step may be repeated, by this run or another."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from pyspark.sql import SparkSession

from decoder.definition import TableDefinition
from pipeline.catalog.definitions import append_items
from pipeline.catalog.effects import TableName
from pipeline.job_progress import following
from pipeline.kernels import warm_first
from pipeline.ledger import Ledger, Plan
from pipeline.progress import Progress
from pipeline.sessions import own_session, tasks_of_a_job
from pipeline.settings import Settings
from pipeline.silver import segments
from pipeline.silver.anew import begin
from pipeline.silver.blobs import BLOBS
from pipeline.silver.claims import require_unclaimed
from pipeline.silver.decode import (
    FAULTS,
    STATEMENTS,
    TRANSACTIONS,
    Decode,
    table_target,
)
from pipeline.silver.lossy import read_lossy, sentences
from pipeline.silver.plan import SilverPlan
from pipeline.silver.quarantine import append_faults, resolve, still_faulty, supersede
from pipeline.silver.segments import SegmentRef
from pipeline.silver.spark_types import spark_schema
from pipeline.silver.staging import Staging, big_row_session, remove_leftovers, staging
from pipeline.silver.tables import WRITING, write_tables
from pipeline.silver.transactions import append_statements, append_transactions, count_seen
from pipeline.silver.views import write_views

BEGUN = (
    "A full refresh has begun: everything is decoded anew. Gold's published cut stays until then."
)


@dataclass(frozen=True, slots=True)
class Done:
    """What carrying out a plan did: totals by name, sentences about its faults and its losses."""

    batch: int
    counts: Mapping[str, int]
    faults: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()


def execute(
    spark: SparkSession, settings: Settings, ledger: Ledger, plan: Plan, progress: Progress
) -> Done:
    """Carry out a plan and finish it in the ledger.

    Another run at the same plan may finish first and remove what this one stands on: that is no
    error, the plan is done.
    """
    try:
        return _Batch(spark, settings, ledger, plan, progress).run()
    except Exception:
        if not ledger.finished_by_another(plan):
            raise
        return Done(plan.batch, {})


class _Batch:
    def __init__(
        self,
        spark: SparkSession,
        settings: Settings,
        ledger: Ledger,
        plan: Plan,
        progress: Progress,
    ) -> None:
        self.spark = big_row_session(spark)
        self.body = SilverPlan.from_body(plan.body)
        self.settings = settings.with_decoding(self.body.conf)
        self.ledger = ledger
        self.plan = plan
        self.progress = progress
        self.lake = settings.layout

    def run(self) -> Done:
        if self.body.begins is not None:
            begin(self.spark, self.settings, self.ledger, self.plan, self.body)
            return Done(self.plan.batch, {}, notes=(BEGUN,))
        batch, source = self.plan.batch, self.settings.source
        append_items(self.spark, self.lake, source, batch, self.body.items)
        # Once more: another source's run may have planned the same table at the same time.
        require_unclaimed(self.spark, self.ledger, self.body.table_names)
        with staging(self.spark, self.lake, source, batch) as blobs:
            decoded = self._decode(blobs)
            counts = blobs.counts() if decoded else {}
            staged = replace(blobs, spark=own_session(self.spark, WRITING))
            rows = self._write_tables(staged, counts)
            unseen = self._write_views(counts)
            append_transactions(staged, self.lake, source, batch, counts)
            append_statements(staged, self.lake, source, batch, counts)
            faults = self._faults(staged, counts)
            lossy = read_lossy(staged, counts)
            seen = count_seen(staged, counts) if self.body.seen else 0
        record = self._record(counts, rows, decoded) | {"lossy": lossy, "seen_before": seen}
        self.ledger.finish(self.plan, record)
        remove_leftovers(self.lake, source, batch)
        return Done(
            batch, record["counts"], tuple(faults), (*sentences(lossy), *_told(seen), *unseen)
        )

    def _decode(self, staged: Staging) -> int:
        """Decode all segments of the plan to staging; how many there are."""
        refs = self._refs()
        with self.progress.task("decode segments", len(refs), "segments") as task:
            for chunk in self._chunks(refs):
                with following(self.spark, task, len(chunk)):
                    staged.write(self._blobs(chunk))
        return len(refs)

    def _refs(self) -> list[SegmentRef]:
        place = self.spark, self.lake, self.settings.source
        if self.body.retried:
            return segments.at(*place, [(r.ordinal, r.start_pos) for r in self.body.retried])
        return segments.between(*place, self.body.start, self.body.end)

    def _chunks(self, refs: list[SegmentRef]) -> list[list[SegmentRef]]:
        """Segments taken up again do not follow each other: each is a chunk of its own."""
        if self.body.retried:
            return [[ref] for ref in refs]
        return list(segments.chunks(refs, tasks_of_a_job(self.spark)))

    def _blobs(self, chunk: list[SegmentRef]) -> Any:
        only = {(r.ordinal, r.start_pos): frozenset(r.lsns) for r in self.body.retried}
        decode = Decode(
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
        tasks = min(len(chunk), tasks_of_a_job(self.spark))
        rows = segments.content(self.spark, self.lake, self.settings.source, chunk, spread=tasks)
        return rows.mapInArrow(warm_first(decode), spark_schema(BLOBS))

    def _write_tables(self, staged: Staging, counts: Mapping[str, int]) -> dict[str, int]:
        tables = {t.table_id for t in self.body.tables if counts.get(table_target(t.table_id))}
        with self.progress.task("write silver tables", len(tables), "tables") as task:
            return write_tables(
                staged, self.lake, self.settings, self.body, self.plan.batch, counts, task
            )

    def _write_views(self, counts: Mapping[str, int]) -> list[str]:
        tables = [t for t in self.body.tables if counts.get(table_target(t.table_id))]
        touched = ((TableName(*_parts(t.definition)), t.version) for t in tables)
        return write_views(self.spark, self.lake, touched)

    def _faults(self, staged: Staging, counts: Mapping[str, int]) -> list[str]:
        source, batch = self.settings.source, self.plan.batch
        # What is decoded again has told its faults before, unless it is read another way now.
        again = bool(self.body.again)
        told = self.body.retried and not again
        targets = [FAULTS] if counts.get(FAULTS) and not told else []
        found = append_faults(staged, self.settings, batch, targets, self.body.faults, again=again)
        if not self.body.retried:
            supersede(self.spark, self.lake, source, batch, self.body.seeded)
            return found
        remaining = still_faulty(staged, counts, self.settings.wanted)
        resolve(self.spark, self.lake, source, batch, self.body.retried, remaining, self.body.again)
        if not remaining:
            return found
        return [*found, f"{len(remaining)} transactions in quarantine still cannot be decoded."]

    def _record(
        self, counts: Mapping[str, int], rows: Mapping[str, int], decoded: int
    ) -> dict[str, Any]:
        """The batch in the ledger: where silver stands now, and what was done."""
        return {
            "to": list(self.body.end),
            "cut_lsn": self.body.cut_lsn,
            "rows": dict(rows),
            "counts": {
                "segments": decoded,
                "rows": sum(rows.values()),
                "tables": len(rows),
                "transactions": counts.get(TRANSACTIONS, 0),
                "statements": counts.get(STATEMENTS, 0),
                "faults": counts.get(FAULTS, 0) + len(self.body.faults),
            },
        }


def _parts(definition: TableDefinition) -> tuple[str, str]:
    return definition.schema, definition.table


def _told(seen: int) -> list[str]:
    """What is left out is told."""
    return [f"{seen} transactions were in the lake before: they are left out."] if seen else []
