"""Run functions over bronze's segments, in tasks that read them from its data files or by Spark.

Spark reads them if tasks cannot reach the files: when a catalog manages the tables, or when Spark
runs elsewhere with storage of its own. Either way the parts of a segment come in order, wherever
they are stored, since maintenance may have rewritten the files; one row is in memory at a time.
"""

from __future__ import annotations

import heapq
import pickle
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from itertools import groupby, islice
from operator import attrgetter
from typing import NamedTuple, TypeVar

import pyarrow as pa
import pyarrow.parquet as pq
from pyspark.sql import DataFrame, SparkSession, functions as sf

from pipeline.errors import ConcurrentRunError
from pipeline.lake import Lake, delta
from pipeline.lake.child_sessions import child_session, tasks_per_job
from pipeline.lake.dealing import dealt, packed
from pipeline.lake.files.data_files import opened
from pipeline.lake.tables.by_spark import SparkTables
from pipeline.lake.tables.choice import tables_of
from pipeline.layer import LayerRun
from pipeline.observe.interruption import raise_if_cancelled
from pipeline.observe.progress import Task
from pipeline.silver.decode.decode import SEGMENT_COLUMNS
from pipeline.silver.decode.segment_refs import FilePosition, SegmentRef
from pipeline.spark.engine import engine_of
from pipeline.spark.warm_kernels import warm_first

R = TypeVar("R")
OfRows = Callable[[Iterator[pa.RecordBatch]], R]
"""A function of rows of `SEGMENT_COLUMNS`; it and its result can be pickled."""

_SMALL = ("source", "ordinal", "start_pos", "part", "incomplete")
"""The columns that decide whether a row is wanted."""

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


def results(
    run: LayerRun,
    name: str,
    refs: Sequence[SegmentRef],
    function: OfRows[R],
    *,
    apart: bool = False,
) -> Iterator[R]:
    """Run a function over the segments in tasks; yield the result of each, in no order.

    `name` of the work is shown to users. `apart`: the segments are not consecutive in the log.
    """
    with run.progress.task(name, len(refs), "segments") as task:
        if isinstance(tables := tables_of(run.spark, run.lake), SparkTables):
            consecutive = [[ref] for ref in refs] if apart else [refs]
            yield from _by_spark(tables.spark, run, consecutive, function, task)
            return
        engine = engine_of(run.spark, run.settings, sum(ref.size for ref in refs))
        tasks = list(stored(refs, run.lake.segments, run.source, engine.tasks))
        sizes = [len(one.places) for one in tasks]
        for _, result in engine.run(partial(_on_files, function), tasks, task, sizes):
            yield result


def _on_files(function: OfRows[R], segments: StoredSegments) -> R:
    return function(segments.rows())


def stored(
    refs: Sequence[SegmentRef], folder: str, source: str, tasks: int
) -> Iterator[StoredSegments]:
    """Yield the segments of each of this many tasks, with their files in bronze's `folder`."""
    for run in dealt(refs, attrgetter("size"), tasks):
        names = dict.fromkeys(name for ref in run for name in ref.stored_in)
        paths = tuple(f"{folder}/{name}" for name in names)
        yield StoredSegments(source, tuple(ref.place for ref in run), paths)


# --- read from data files -------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class StoredSegments:
    """Segments of a source to decode in order, and the files that contain them."""

    source: str
    places: tuple[FilePosition, ...]
    files: tuple[str, ...]

    def rows(self) -> Iterator[pa.RecordBatch]:
        """Yield rows of `SEGMENT_COLUMNS`, one per batch.

        Raises ConcurrentRunError if the files no longer contain all of the segments: a missing
        segment must not be taken for one without changes.
        """
        files = [_File(path) for path in self.files]
        wanted = frozenset(self.places)
        found = [
            row
            for number, file in enumerate(files)
            for row in file.index(number, self.source, wanted)
        ]
        if missing := wanted.difference((row.ordinal, row.start_pos) for row in found):
            ordinal, position = min(missing)
            raise ConcurrentRunError(
                f"bronze lacks file number {ordinal} of {self.source} from byte {position} on,"
                " which it had when the batch was planned.",
                remedy="Another program may have changed bronze. Run again; nothing was decoded.",
            )
        return _in_order(files, sorted(row for row in found if not row.incomplete))


class _SegmentRow(NamedTuple):
    """A row of bronze: its key, then its location.

    `incomplete`: the tail that a crashed server left; it is part of the log's file but of no
    transaction, and is skipped.
    """

    ordinal: int
    start_pos: int
    part: int
    file: int
    group: int
    at: int
    incomplete: bool


class _File:
    """A data file of bronze, open only while it is read: a task may have thousands."""

    def __init__(self, path: str) -> None:
        self._path = path
        self._footer: pq.FileMetaData | None = None

    @contextmanager
    def opened(self) -> Iterator[pq.ParquetFile]:
        """Open the file; its footer is read once."""
        with opened(self._path, self._footer) as file:
            self._footer = file.metadata
            yield file

    def index(
        self, number: int, source: str, wanted: Collection[FilePosition]
    ) -> Iterator[_SegmentRow]:
        """Yield the wanted rows."""
        with self.opened() as file:
            for group in range(file.num_row_groups):
                columns = file.read_row_group(group, columns=list(_SMALL)).to_pydict()
                rows = zip(*(columns[name] for name in _SMALL), strict=True)
                for index, (of, ordinal, start_pos, part, incomplete) in enumerate(rows):
                    if of == source and (ordinal, start_pos) in wanted:
                        yield _SegmentRow(
                            ordinal, start_pos, part, number, group, index, bool(incomplete)
                        )


def _in_order(files: Sequence[_File], rows: Iterable[_SegmentRow]) -> Iterator[pa.RecordBatch]:
    """Yield the rows in order; consecutive rows of a row group are read in one pass."""
    for number, of_file in groupby(rows, key=lambda row: row.file):
        with files[number].opened() as file:
            for group, of_group in groupby(of_file, key=lambda row: row.group):
                yield from _of_group(file, group, of_group)


def _of_group(
    file: pq.ParquetFile, group: int, rows: Iterable[_SegmentRow]
) -> Iterator[pa.RecordBatch]:
    reached = 0
    batches: Iterator[pa.RecordBatch] = iter(())
    for row in rows:
        raise_if_cancelled()
        if row.at < reached or not reached:
            batches, reached = _batches(file, group), 0
        yield next(islice(batches, row.at - reached, None))
        reached = row.at + 1


def _batches(file: pq.ParquetFile, group: int) -> Iterator[pa.RecordBatch]:
    found: Iterator[pa.RecordBatch] = file.iter_batches(
        batch_size=1, row_groups=[group], columns=list(SEGMENT_COLUMNS)
    )
    return found


# --- read by Spark --------------------------------------------------------------------------------


def _by_spark(
    spark: SparkSession,
    run: LayerRun,
    consecutive: Iterable[Sequence[SegmentRef]],
    function: OfRows[R],
    task: Task,
) -> Iterator[R]:
    """Yield the result of each task of Spark jobs, which are each over consecutive segments."""
    session = child_session(spark, BIG_ROWS)

    def work(rows: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        yield pa.RecordBatch.from_pydict({"result": [pickle.dumps(function(rows))]})

    for refs in consecutive:
        for chunk in chunks(refs, tasks_per_job(spark)):
            spread = min(len(chunk), tasks_per_job(spark))
            rows = content(session, run.lake, run.source, chunk, spread=spread)
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
