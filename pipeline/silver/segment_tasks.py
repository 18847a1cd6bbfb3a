"""Bronze's segments dealt out to tasks, which read them from its data files, or from Spark."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TypeVar

import pyarrow as pa

from pipeline.engine import engine_of
from pipeline.lake_tables.by_spark import SparkTables
from pipeline.lake_tables.opening import tables_of
from pipeline.progress import Progress
from pipeline.settings import Settings
from pipeline.silver.segment_content import results_by_spark
from pipeline.silver.segments import SegmentRef
from pipeline.silver.stored_segments import StoredSegments
from pipeline.starting import Spark

R = TypeVar("R")
OfRows = Callable[[Iterator[pa.RecordBatch]], R]
"""A function of rows of `SEGMENT_COLUMNS`; it can be pickled, and so can its result."""

LEAST_BYTES = 16 << 20
"""Segments of a task, together, where there are so many …"""
MOST_BYTES = 256 << 20
"""… and where there are many more."""


@dataclass(frozen=True, slots=True)
class Work:
    """Segments to work through; `name` is shown to a person. `apart`: they do not follow each other
    in the log."""

    name: str
    refs: Sequence[SegmentRef]
    apart: bool = False

    @property
    def size(self) -> int:
        """How many bytes of the log they are."""
        return sum(map(_size, self.refs))


def results(
    spark: Spark,
    settings: Settings,
    work: Work,
    function: OfRows[R],
    progress: Progress,
) -> Iterator[R]:
    """Run a function over the segments in tasks; gives the result of each, in no order."""
    lake, source = settings.layout, settings.source
    with progress.task(work.name, len(work.refs), "segments") as task:
        if isinstance(tables := tables_of(spark, lake), SparkTables):
            runs = [[ref] for ref in work.refs] if work.apart else [work.refs]
            yield from results_by_spark(tables.spark, lake, source, runs, function, task)
            return
        engine = engine_of(spark, settings, work.size)
        size = task_bytes(work.size, engine.tasks)
        tasks = list(stored(work.refs, lake.segments, source, size))
        sizes = [len(one.places) for one in tasks]
        for _, result in engine.run(partial(_on_files, function), tasks, task, sizes):
            yield result


def _on_files(function: OfRows[R], segments: StoredSegments) -> R:
    return function(segments.rows())


def task_bytes(total: int, tasks: int) -> int:
    """How much of the log a task takes: a share of it, but not too little and not too much."""
    return min(max(total // tasks, LEAST_BYTES), MOST_BYTES)


def stored(
    refs: Iterable[SegmentRef], folder: str, source: str, size: int
) -> Iterator[StoredSegments]:
    """Runs of segments, each of about so many bytes, as tasks find them in bronze's `folder`."""
    run: list[SegmentRef] = []
    held = 0
    for ref in refs:
        if run and held + _size(ref) > size:
            yield _stored(run, folder, source)
            run, held = [], 0
        run.append(ref)
        held += _size(ref)
    if run:
        yield _stored(run, folder, source)


def _stored(run: Sequence[SegmentRef], folder: str, source: str) -> StoredSegments:
    names = dict.fromkeys(name for ref in run for name in ref.stored_in)
    return StoredSegments(
        source, tuple(ref.place for ref in run), tuple(f"{folder}/{name}" for name in names)
    )


def _size(ref: SegmentRef) -> int:
    return ref.end_pos - ref.start_pos
