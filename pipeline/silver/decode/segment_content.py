"""Bronze's segments with their bytes by Spark, for tasks that do not reach its data files.

So it is where a catalog has the tables, or Spark is elsewhere with a folder of its own.
"""

from __future__ import annotations

import heapq
import pickle
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from operator import attrgetter
from typing import TypeVar

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession, functions as sf

from pipeline.lake import Lake, delta
from pipeline.lake.child_sessions import own_session, tasks_of_a_job
from pipeline.lake.dealing import packed
from pipeline.observe.progress import Task
from pipeline.silver.decode.decode import SEGMENT_COLUMNS
from pipeline.silver.decode.segments import SegmentRef
from pipeline.spark.warm_kernels import warm_first

R = TypeVar("R")

CHUNK_BYTES = 1 << 30
"""As many bytes of segments may always go through one Spark job …"""
TASK_BYTES = 256 << 20
"""… and as many for each of its tasks: some files of bronze for each core."""
TURN_BYTES = 16 << 20
"""Segments are dealt out by which stretch of this size of their file they begin in."""
UNEVEN = 1.25
"""How much longer than with equal shares tasks may work, rather than have segments dealt out: what
that costs, which is to write all of them to disk and to read them again
(docs/contributing/benchmarks.md)."""

BIG_ROWS = {
    # One row of 16 to 64 MiB at a time between Spark and Python.
    "spark.sql.execution.arrow.maxRecordsPerBatch": "1",
    # So too from Parquet: a batch of thousands grows, copied again and again, to a file's size.
    "spark.sql.parquet.columnarReaderBatchSize": "1",
    # Row groups of bronze are small in number and long in work: one to a task.
    "spark.sql.files.maxPartitionBytes": str(16 << 20),
    "spark.sql.files.openCostInBytes": "0",
}
"""Settings of the session in which segments are read."""


def results_by_spark(
    spark: SparkSession,
    lake: Lake,
    source: str,
    runs: Iterable[Sequence[SegmentRef]],
    function: Callable[[Iterator[pa.RecordBatch]], R],
    task: Task,
) -> Iterator[R]:
    """Run a function of rows of `SEGMENT_COLUMNS` in Spark jobs over runs of consecutive
    segments; gives the result of each task."""
    session = own_session(spark, BIG_ROWS)

    def work(rows: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        yield pa.RecordBatch.from_pydict({"result": [pickle.dumps(function(rows))]})

    for run in runs:
        for chunk in chunks(run, tasks_of_a_job(spark)):
            spread = min(len(chunk), tasks_of_a_job(spark))
            rows = content(session, lake, source, chunk, spread=spread)
            for row in rows.mapInArrow(warm_first(work), "result BINARY").collect():
                yield pickle.loads(bytes(row["result"]))
            task.advance(len(chunk))


def chunks(refs: Iterable[SegmentRef], tasks: int) -> Iterator[list[SegmentRef]]:
    """Runs of segments, enough together for one Spark job of so many tasks."""
    return packed(refs, attrgetter("size"), max(CHUNK_BYTES, tasks * TASK_BYTES))


def content(
    spark: SparkSession, lake: Lake, source: str, refs: Sequence[SegmentRef], *, spread: int
) -> DataFrame:
    """Consecutive segments with their bytes, each with its parts one after the other.

    They stay in the tasks that read them, unless these are too few or too unequal for half of
    `spread` at once (which is two for each core): then they are dealt out to so many, in turns of a
    segment's size.
    """
    first, last = refs[0], refs[-1]
    rows = delta.read(spark, lake.segments).where(sf.col("source") == source)
    rows = rows.where(f"ordinal BETWEEN {first.ordinal} AND {last.ordinal}").where(
        f"(ordinal > {first.ordinal} OR start_pos >= {first.start_pos})"
        f" AND (ordinal < {last.ordinal} OR start_pos <= {last.start_pos})"
    )
    # The end that a crashed server never finished belongs to the file, and to no transaction.
    columns = rows.where("NOT coalesce(incomplete, false)").select(*SEGMENT_COLUMNS)
    has_parts = any(ref.parts > 1 for ref in refs)
    if not has_parts and are_even(refs, (spread + 1) // 2):
        return columns
    turn = sf.expr(f"CAST((ordinal + start_pos DIV {TURN_BYTES}) % {spread} AS INT)")
    dealt = columns.repartitionById(spread, turn)
    return dealt.sortWithinPartitions("ordinal", "start_pos", "part") if has_parts else dealt


def are_even(refs: Sequence[SegmentRef], cores: int) -> bool:
    """Whether cores that take the next file each time they are done have about equal shares."""
    sizes: Counter[tuple[str, ...]] = Counter()
    for ref in refs:
        sizes[ref.stored_in[:1]] += ref.size
    shares = [0] * cores
    for size in sorted(sizes.values(), reverse=True):
        heapq.heapreplace(shares, shares[0] + size)
    return max(shares) * cores <= UNEVEN * sizes.total()
