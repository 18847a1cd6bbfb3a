"""Carrying out one batch of bronze: its steps, each a commit that may be repeated."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from pyspark.sql import SparkSession, functions as sf

from pipeline import delta
from pipeline.bronze.encrypted import find_ciphers, read_keys
from pipeline.bronze.files import FileRow, read_files, write_files
from pipeline.bronze.gtids import GtidSet
from pipeline.bronze.ingest import Ciphers, append_segments, clear_in_use_flags, still_as_planned
from pipeline.bronze.plan import FilePlan, from_body
from pipeline.job_progress import following
from pipeline.lake import Lake
from pipeline.ledger import Ledger, Plan
from pipeline.progress import Progress
from pipeline.settings import EncryptionSettings

_NOT_ENCRYPTED = EncryptionSettings()

Identity = tuple[str, str]
"""A file's name and incarnation."""


@dataclass(frozen=True, slots=True)
class _Committed:
    """The segments of one file that a batch brought: where they end, how many, their GTIDs, and
    the events in each by type."""

    end: int
    segments: int
    gtids: Sequence[str]
    events: Sequence[Mapping[str, int]]


@dataclass(frozen=True, slots=True)
class Done:
    """What a batch did, and all of the source's files as it left them."""

    number: int
    counts: Mapping[str, int]
    files: tuple[FileRow, ...]


def carry_out(
    spark: SparkSession,
    lake: Lake,
    ledger: Ledger,
    plan: Plan,
    progress: Progress,
    encryption: EncryptionSettings = _NOT_ENCRYPTED,
) -> Done:
    """Do what the plan says, as far as it is not done, and finish it."""
    files, part_size, limit = from_body(plan.body)
    # Not in the plan, which would keep secrets in the ledger.
    encrypted = ((file.row.path, file.codec) for file in files if file.cuts)
    ciphers = find_ciphers(encrypted, read_keys(encryption))
    planned = sum(file.row.ingested_upto - file.start.position for file in files)
    with (
        progress.task("bronze: ingesting", planned, "bytes") as task,
        following(spark, task, planned),
    ):
        _append(spark, lake, plan, files, part_size, limit, ciphers)
    clear_in_use_flags(spark, lake, plan.source, files, batch=plan.batch)
    committed = _committed(spark, lake, plan, files)
    rows = [_row_after(file, committed) for file in files]
    after = _updated(read_files(spark, lake, plan.source), rows)
    write_files(spark, lake, plan.source, after, batch=plan.batch)
    counts = {
        "files": len(files),
        "bytes": sum(_reached(file, committed) - file.start.position for file in files),
        "segments": sum(found.segments for found in committed.values()),
    }
    ledger.finish(plan, {**counts, "events": _events(committed.values())})
    return Done(plan.batch, counts, tuple(after))


def _append(
    spark: SparkSession,
    lake: Lake,
    plan: Plan,
    files: Sequence[FilePlan],
    part_size: int,
    limit: int,
    ciphers: Ciphers,
) -> None:
    """Append the segments; without those of files that changed or vanished since the plan."""

    def append(files: Sequence[FilePlan]) -> None:
        append_segments(
            spark,
            lake,
            plan.source,
            files,
            batch=plan.batch,
            limit=limit,
            part_size=part_size,
            ciphers=ciphers,
        )

    try:
        append(files)
    except Exception:
        left = still_as_planned(spark, files, ciphers)
        if len(left) == len(files):
            raise
        append(left)


def _committed(
    spark: SparkSession, lake: Lake, plan: Plan, files: Sequence[FilePlan]
) -> Mapping[Identity, _Committed]:
    """What segments of each file this batch has really brought."""
    if not any(file.cuts for file in files) or not delta.exists(spark, lake.segments):
        return {}
    mine = (sf.col("source") == plan.source) & (sf.col("batch") == plan.batch)
    found = (
        delta.read(spark, lake.segments)
        .where(mine & (sf.col("part") == 0))
        .groupBy("file", "incarnation")
        .agg(sf.max("end_pos"), sf.count("*"), sf.collect_list("gtids"), sf.collect_list("events"))
        .coalesce(1)
        .collect()
    )
    return {(file, log): _Committed(*figures) for file, log, *figures in map(tuple, found)}


def _events(committed: Iterable[_Committed]) -> dict[str, int]:
    """How many events of each type the batch brought."""
    found: Counter[str] = Counter()
    for file in committed:
        for events in file.events:
            found.update(events)
    return dict(sorted(found.items()))


def _reached(file: FilePlan, committed: Mapping[Identity, _Committed]) -> int:
    if not file.cuts:
        return file.row.ingested_upto
    found = committed.get((file.row.file, file.row.incarnation))
    return found.end if found else file.start.position


def _row_after(file: FilePlan, committed: Mapping[Identity, _Committed]) -> FileRow:
    """The file's row, given what of it was really brought."""
    row = file.row_after(_reached(file, committed))
    found = committed.get((row.file, row.incarnation))
    if found is None or row.gtids is None:
        return row
    return replace(row, gtids=str(GtidSet.of(row.gtids, *found.gtids)))


def _updated(before: Sequence[FileRow], after: Sequence[FileRow]) -> list[FileRow]:
    rows = {(row.file, row.incarnation): row for row in before}
    rows |= {(row.file, row.incarnation): row for row in after}
    return sorted(rows.values(), key=lambda row: row.ordinal)
