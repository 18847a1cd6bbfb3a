"""Carry out one plan of bronze; every step is idempotent."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from pipeline.bronze.batch_plan import BronzePlan, FilePlan
from pipeline.bronze.files import read_files, write_files
from pipeline.bronze.ingest import (
    clear_in_use_flags,
    commit_segments,
    planned_segments,
    still_as_planned,
    write_all,
)
from pipeline.bronze.tables import FileRow, segments_table
from pipeline.lake.delta_log.conditions import equal
from pipeline.lake.files.target_writer import Written
from pipeline.lake.ledger.ledger import Plan
from pipeline.lake.tables.choice import tables_of
from pipeline.lake.tables.tables import Tables
from pipeline.layer import Done, LayerRun
from pipeline.source import GtidSet
from pipeline.source.logs.ciphers import find_ciphers, read_keys
from pipeline.spark.engine import engine_of

FileIdentity = tuple[str, str]
"""A file's name and incarnation."""


@dataclass(frozen=True, slots=True)
class _Committed:
    """The segments of one file that a batch committed: their end, number, GTIDs, and events by
    type."""

    end: int
    segments: int
    gtids: Sequence[str]
    events: Counter[str]


@dataclass(frozen=True, slots=True, kw_only=True)
class Ingested(Done):
    """The result of a batch; `files`: all of the source's files after it."""

    files: tuple[FileRow, ...]


def carry_out(run: LayerRun, plan: Plan) -> Ingested:
    """Carry out the remaining steps of a plan, and finish it in the ledger."""
    body = BronzePlan.from_body(plan.body)
    files = body.files
    tables = tables_of(run.spark, run.lake)
    committed = _committed(tables, plan, files)
    if not committed and any(file.segments for file in files):
        written = _write(run, tables, body, plan.batch)
        commit_segments(tables, plan.source, plan.batch, written)
        committed = _committed(tables, plan, files)
    clear_in_use_flags(tables, plan.source, files, batch=plan.batch)
    rows = [_row_after(file, committed) for file in files]
    after = _updated(read_files(run.spark, run.lake, plan.source), rows)
    write_files(run.spark, run.lake, plan.source, after, batch=plan.batch)
    counts = {
        "files": len(files),
        "bytes": sum(_reached(file, committed) - file.start.position for file in files),
        "segments": sum(found.segments for found in committed.values()),
    }
    events = sum((found.events for found in committed.values()), Counter[str]())
    run.ledger.finish(plan, {**counts, "events": dict(sorted(events.items()))})
    return Ingested(plan=plan, counts=counts, files=tuple(after))


def _write(run: LayerRun, tables: Tables, plan: BronzePlan, batch: int) -> list[Written]:
    """Write the segments, except those of files that changed or vanished since the plan."""
    size = sum(file.row.ingested_upto - file.start.position for file in plan.files)
    engine = engine_of(run.spark, run.settings, size)
    # Ciphers are not in the plan, to keep secrets out of the ledger.
    encrypted = ((file.row.path, file.codec) for file in plan.files if file.segments)
    ciphers = find_ciphers(encrypted, read_keys(run.settings.encryption))
    table = segments_table(run.lake)
    folder = tables.folder(table)

    def write(plan: BronzePlan) -> list[Written]:
        segments = planned_segments(plan, batch, ciphers)
        return write_all(engine, folder, table, segments, task)

    with run.progress.task("ingesting files", size, "bytes") as task:
        try:
            return write(plan)
        except Exception:
            unchanged = still_as_planned(engine, plan.files, ciphers)
            if len(unchanged) == len(plan.files):
                raise
            return write(replace(plan, files=unchanged))


def _committed(
    tables: Tables, plan: Plan, files: Sequence[FilePlan]
) -> Mapping[FileIdentity, _Committed]:
    """Return the segments of each file that any run has committed for this batch."""
    if not any(file.segments for file in files):
        return {}
    mine = equal("source", plan.source) & equal("batch", plan.batch) & equal("part", 0)
    columns = ["file", "incarnation", "end_pos", "gtids", "events"]
    found: dict[FileIdentity, list[dict[str, Any]]] = {}
    for row in tables.read(segments_table(tables.lake), mine, columns).to_pylist():
        found.setdefault((row["file"], row["incarnation"]), []).append(row)
    return {
        identity: _Committed(
            max(row["end_pos"] for row in rows),
            len(rows),
            [row["gtids"] for row in rows if row["gtids"] is not None],
            sum((Counter(dict(row["events"])) for row in rows), Counter()),
        )
        for identity, rows in found.items()
    }


def _reached(file: FilePlan, committed: Mapping[FileIdentity, _Committed]) -> int:
    if not file.segments:
        return file.row.ingested_upto
    found = committed.get((file.row.file, file.row.incarnation))
    return found.end if found else file.start.position


def _row_after(file: FilePlan, committed: Mapping[FileIdentity, _Committed]) -> FileRow:
    """Return the file's row after the batch, by what was actually committed."""
    row = file.row_after(_reached(file, committed))
    found = committed.get((row.file, row.incarnation))
    if found is None or row.gtids is None:
        return row
    return replace(row, gtids=str(GtidSet.of(row.gtids, *found.gtids)))


def _updated(before: Sequence[FileRow], after: Sequence[FileRow]) -> list[FileRow]:
    rows = {(row.file, row.incarnation): row for row in before}
    rows |= {(row.file, row.incarnation): row for row in after}
    return sorted(rows.values(), key=lambda row: row.ordinal)
