"""Read bronze's segments with Spark, for tasks that cannot reach its data files.

Used when a catalog manages the tables, or when Spark runs elsewhere with storage of its own.
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
from pipeline.lake.child_sessions import child_session, tasks_per_job
from pipeline.lake.dealing import packed
from pipeline.observe.progress import Task
from pipeline.silver.decode.decode import SEGMENT_COLUMNS
from pipeline.silver.decode.segments import SegmentRef
from pipeline.spark.warm_kernels import warm_first

R = TypeVar("R")

CHUNK_BYTES = 1 << 30
"""One Spark job may always process this many bytes of segments …"""
TASK_BYTES = 256 << 20
"""… and this many per task: several bronze files per core."""
TURN_BYTES = 16 << 20
"""Segments are distributed by the range of this size of their file in which they begin."""
UNEVEN = 1.25
"""How much longer than with equal shares tasks may run before segments are redistributed, which
writes all of them to disk and reads them again (docs/contributing/benchmarks.md)."""

BIG_ROWS = {
    # One row of 16 to 64 MiB at a time between Spark and Python.
    "spark.sql.execution.arrow.maxRecordsPerBatch": "1",
    # The same for Parquet: a batch of thousands grows to a file's size, copied repeatedly.
    "spark.sql.parquet.columnarReaderBatchSize": "1",
    # Bronze has few row groups, each with much work: one per task.
    "spark.sql.files.maxPartitionBytes": str(16 << 20),
    "spark.sql.files.openCostInBytes": "0",
}
"""Settings of the session that reads segments."""


def results_by_spark(
    spark: SparkSession,
    lake: Lake,
    source: str,
    runs: Iterable[Sequence[SegmentRef]],
    function: Callable[[Iterator[pa.RecordBatch]], R],
    task: Task,
) -> Iterator[R]:
    """Run a function over rows of `SEGMENT_COLUMNS` in Spark jobs; yield the result of each task.

    Each of `runs` has consecutive segments.
    """
    session = child_session(spark, BIG_ROWS)

    def work(rows: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        yield pa.RecordBatch.from_pydict({"result": [pickle.dumps(function(rows))]})

    for run in runs:
        for chunk in chunks(run, tasks_per_job(spark)):
            spread = min(len(chunk), tasks_per_job(spark))
            rows = content(session, lake, source, chunk, spread=spread)
            for row in rows.mapInArrow(warm_first(work), "result BINARY").collect():
                yield pickle.loads(bytes(row["result"]))
            task.advance(len(chunk))


def chunks(refs: Iterable[SegmentRef], tasks: int) -> Iterator[list[SegmentRef]]:
    """Yield runs of segments that are each large enough for a Spark job of this many tasks."""
    return packed(refs, attrgetter("size"), max(CHUNK_BYTES, tasks * TASK_BYTES))


def content(
    spark: SparkSession, lake: Lake, source: str, refs: Sequence[SegmentRef], *, spread: int
) -> DataFrame:
    """Return consecutive segments with their bytes, the parts of each in order.

    They are processed in the tasks that read them, unless these are too few or too uneven for half
    of `spread` at once (`spread` is two per core): then they are redistributed to `spread`
    partitions, round-robin in units of a segment's size.
    """
    first, last = refs[0], refs[-1]
    rows = delta.read(spark, lake.segments).where(sf.col("source") == source)
    rows = rows.where(f"ordinal BETWEEN {first.ordinal} AND {last.ordinal}").where(
        f"(ordinal > {first.ordinal} OR start_pos >= {first.start_pos})"
        f" AND (ordinal < {last.ordinal} OR start_pos <= {last.start_pos})"
    )
    # The incomplete tail that a crashed server left is part of the file, but of no transaction.
    columns = rows.where("NOT coalesce(incomplete, false)").select(*SEGMENT_COLUMNS)
    has_parts = any(ref.parts > 1 for ref in refs)
    if not has_parts and are_even(refs, (spread + 1) // 2):
        return columns
    turn = sf.expr(f"CAST((ordinal + start_pos DIV {TURN_BYTES}) % {spread} AS INT)")
    dealt = columns.repartitionById(spread, turn)
    return dealt.sortWithinPartitions("ordinal", "start_pos", "part") if has_parts else dealt


def are_even(refs: Sequence[SegmentRef], cores: int) -> bool:
    """Return True if cores that each take the next file when idle get about equal shares."""
    sizes: Counter[tuple[str, ...]] = Counter()
    for ref in refs:
        sizes[ref.stored_in[:1]] += ref.size
    shares = [0] * cores
    for size in sorted(sizes.values(), reverse=True):
        heapq.heapreplace(shares, shares[0] + size)
    return max(shares) * cores <= UNEVEN * sizes.total()
