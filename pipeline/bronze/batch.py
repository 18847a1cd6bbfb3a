"""Carrying out one batch of bronze: its steps, each a commit that may be repeated."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from pyspark.sql import SparkSession, functions as sf

from pipeline import delta
from pipeline.bronze.files import FileRow, read_files, write_files
from pipeline.bronze.ingest import append_segments, clear_in_use_flags, still_as_planned
from pipeline.bronze.plan import FilePlan, from_body
from pipeline.job_progress import following
from pipeline.lake import Lake
from pipeline.ledger import Ledger, Plan
from pipeline.progress import Progress

Identity = tuple[str, str]


@dataclass(frozen=True, slots=True)
class Done:
    """What a batch did, and all of the source's files as it left them."""

    number: int
    counts: Mapping[str, int]
    files: tuple[FileRow, ...]


def carry_out(
    spark: SparkSession, lake: Lake, ledger: Ledger, plan: Plan, progress: Progress
) -> Done:
    """Do what the plan says, as far as it is not done, and finish it."""
    files, part_size, limit = from_body(plan.body)
    planned = sum(file.row.ingested_upto - file.start.position for file in files)
    with (
        progress.task("bronze: ingesting", planned, "bytes") as task,
        following(spark, task, planned),
    ):
        _append(spark, lake, plan, files, part_size, limit)
    clear_in_use_flags(spark, lake, plan.source, files, batch=plan.batch)
    ends, segments = _committed(spark, lake, plan, files)
    rows = [file.row_after(_reached(file, ends)) for file in files]
    after = _updated(read_files(spark, lake, plan.source), rows)
    write_files(spark, lake, plan.source, after, batch=plan.batch)
    counts = {
        "files": len(files),
        "bytes": sum(_reached(file, ends) - file.start.position for file in files),
        "segments": segments,
    }
    ledger.finish(plan, counts)
    return Done(plan.batch, counts, tuple(after))


def _append(
    spark: SparkSession,
    lake: Lake,
    plan: Plan,
    files: Sequence[FilePlan],
    part_size: int,
    limit: int,
) -> None:
    """Append the segments; without those of files that changed or vanished since the plan."""
    try:
        append_segments(
            spark, lake, plan.source, files, batch=plan.batch, limit=limit, part_size=part_size
        )
    except Exception:
        left = still_as_planned(spark, files)
        if len(left) == len(files):
            raise
        append_segments(
            spark, lake, plan.source, left, batch=plan.batch, limit=limit, part_size=part_size
        )


def _committed(
    spark: SparkSession, lake: Lake, plan: Plan, files: Sequence[FilePlan]
) -> tuple[dict[Identity, int], int]:
    """How far each file's segments of this batch reach, and how many there are."""
    ends: dict[Identity, int] = defaultdict(int)
    if not any(file.cuts for file in files) or not delta.exists(spark, lake.segments):
        return ends, 0
    mine = (sf.col("source") == plan.source) & (sf.col("batch") == plan.batch)
    found = (
        delta.read(spark, lake.segments)
        .where(mine & (sf.col("part") == 0))
        .groupBy("file", "incarnation")
        .agg(sf.max("end_pos").alias("end"), sf.count("*").alias("segments"))
        .coalesce(1)
        .collect()
    )
    for row in found:
        ends[row["file"], row["incarnation"]] = row["end"]
    return ends, sum(row["segments"] for row in found)


def _reached(file: FilePlan, ends: dict[Identity, int]) -> int:
    if not file.cuts:
        return file.row.ingested_upto
    return ends.get((file.row.file, file.row.incarnation), file.start.position)


def _updated(before: Sequence[FileRow], after: Sequence[FileRow]) -> list[FileRow]:
    rows = {(row.file, row.incarnation): row for row in before}
    rows |= {(row.file, row.incarnation): row for row in after}
    return sorted(rows.values(), key=lambda row: row.ordinal)
