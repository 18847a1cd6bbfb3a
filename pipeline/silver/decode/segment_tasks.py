"""Distribute bronze's segments to tasks, which read them from its data files or through Spark."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from operator import attrgetter
from typing import TypeVar

import pyarrow as pa

from pipeline.lake.dealing import dealt
from pipeline.lake.starting import Spark
from pipeline.lake.tables.by_spark import SparkTables
from pipeline.lake.tables.opening import tables_of
from pipeline.observe import Progress
from pipeline.settings import Settings
from pipeline.silver.decode.segment_content import results_by_spark
from pipeline.silver.decode.segments import SegmentRef
from pipeline.silver.decode.stored_segments import StoredSegments
from pipeline.spark.engine import engine_of

R = TypeVar("R")
OfRows = Callable[[Iterator[pa.RecordBatch]], R]
"""A function of rows of `SEGMENT_COLUMNS`; it and its result can be pickled."""


@dataclass(frozen=True, slots=True)
class Work:
    """Segments to process; `name` is shown to users. `apart`: not consecutive in the log."""

    name: str
    refs: Sequence[SegmentRef]
    apart: bool = False

    @property
    def size(self) -> int:
        """The number of bytes of the log."""
        return sum(ref.size for ref in self.refs)


def results(
    spark: Spark,
    settings: Settings,
    work: Work,
    function: OfRows[R],
    progress: Progress,
) -> Iterator[R]:
    """Run a function over the segments in tasks; yield the result of each, in no order."""
    lake, source = settings.layout, settings.source
    with progress.task(work.name, len(work.refs), "segments") as task:
        if isinstance(tables := tables_of(spark, lake), SparkTables):
            runs = [[ref] for ref in work.refs] if work.apart else [work.refs]
            yield from results_by_spark(tables.spark, lake, source, runs, function, task)
            return
        engine = engine_of(spark, settings, work.size)
        tasks = list(stored(work.refs, lake.segments, source, engine.tasks))
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
