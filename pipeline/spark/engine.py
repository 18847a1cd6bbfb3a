"""Where the tasks of bronze and silver run: in this process, or on Spark's workers.

A task is a function of a small description that gives a small result; what it reads and writes, it
reads and writes itself. So the same function runs in a thread here, where one machine is all there
is and starting jobs would take longer than the work, and in a `mapInArrow` of a cluster.
"""

from __future__ import annotations

import os
import pickle
import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from contextlib import nullcontext
from dataclasses import dataclass
from typing import Protocol, TypeVar

import pyarrow as pa

from decoder.stream.precompile import warm
from pipeline.lake.child_sessions import is_connected, master_of, tasks_of_a_job
from pipeline.lake.starting import Spark, started
from pipeline.observe.cancellation import heed
from pipeline.observe.memory import give_back
from pipeline.observe.progress import Task
from pipeline.observe.spark_job_progress import following
from pipeline.settings import Settings
from pipeline.spark.session import DATABRICKS, cores
from pipeline.spark.ship_code import on_this_machine
from pipeline.spark.spark_submit import is_submitted
from pipeline.spark.warm_kernels import warm_first

T = TypeVar("T")
R = TypeVar("R")

SMALL = 1 << 30
"""Bytes up to which tasks run in this process, where Spark has no other machine: up to there they
were measured to end earlier here (docs/guides/scaling.md)."""
_TASKS_PER_THREAD = 2
_MOST_PARTITIONS = 1000
"""Spark takes some milliseconds to begin a task: thousands of small files go some to a task."""


class Engine(Protocol):
    """Runs tasks, several at a time."""

    @property
    def tasks(self) -> int:
        """Into how many tasks much work is dealt, so that all that there is has some."""

    @property
    def readers(self) -> str:
        """Who reads what tasks read, as messages name it."""

    def run(
        self,
        function: Callable[[T], R],
        tasks: Sequence[T],
        progress: Task | None = None,
        sizes: Sequence[int] | None = None,
    ) -> list[tuple[int, R]]:
        """Each task's number, and its result, as they came.

        `function` and `tasks` are such that they can be pickled, and so are results. `progress`
        advances by a task's size (1 without `sizes`) as it ends.

        Raises the first error of a task: in this process the error itself, on Spark the
        PythonException that tells of it. No task goes on after that, nor after Ctrl-C.
        """


def engine_of(spark: Spark, settings: Settings, size: int) -> Engine:
    """The engine for tasks that read so many bytes together, as `engine` in conf says."""
    small = size <= SMALL and _is_alone(spark)
    local = settings.engine == "local" or (settings.engine == "auto" and small)
    if local and not _is_job():
        return LocalEngine(cores(master_of(spark)))
    return SparkEngine(spark)


def _is_job() -> bool:
    """Return whether spark-submit or Databricks started this program: its driver is not for tasks,
    and may be much smaller than its workers."""
    return is_submitted() or DATABRICKS in os.environ


def _is_alone(spark: Spark) -> bool:
    """Return whether Spark has this machine only."""
    return not is_connected(spark) and on_this_machine(master_of(spark))


@dataclass(frozen=True, slots=True)
class LocalEngine:
    """Threads of this process: the decoder and Parquet work without Python's lock."""

    threads: int
    readers = "this process"

    @property
    def tasks(self) -> int:
        """See `Engine.tasks`."""
        return self.threads * _TASKS_PER_THREAD

    def run(
        self,
        function: Callable[[T], R],
        tasks: Sequence[T],
        progress: Task | None = None,
        sizes: Sequence[int] | None = None,
    ) -> list[tuple[int, R]]:
        """See `Engine.run`."""
        if not tasks:
            return []
        warm()
        found: list[tuple[int, R]] = []
        cancelled = threading.Event()
        threads = min(len(tasks), self.threads)
        with ThreadPoolExecutor(threads, initializer=heed, initargs=(cancelled,)) as pool:
            try:
                numbers = {pool.submit(function, task): index for index, task in enumerate(tasks)}
                for done in as_completed(numbers):
                    index = numbers[done]
                    found.append((index, done.result()))
                    if progress is not None:
                        progress.advance(sizes[index] if sizes else 1)
            except BaseException:
                cancelled.set()
                pool.shutdown(wait=False, cancel_futures=True)
                raise
        give_back()
        return found


@dataclass(frozen=True, slots=True)
class SparkEngine:
    """Spark's workers, which have the code from `pipeline.spark.ship_code`."""

    spark: Spark
    readers = "Spark's workers"

    @property
    def tasks(self) -> int:
        """See `Engine.tasks`."""
        return tasks_of_a_job(started(self.spark))

    def run(
        self,
        function: Callable[[T], R],
        tasks: Sequence[T],
        progress: Task | None = None,
        sizes: Sequence[int] | None = None,
    ) -> list[tuple[int, R]]:
        """See `Engine.run`."""
        if not tasks:
            return []

        def work(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
            for batch in batches:
                for index in batch.column("id").to_pylist():
                    result = pickle.dumps(function(tasks[index]))
                    yield pa.RecordBatch.from_pydict({"id": [index], "result": [result]})

        session = started(self.spark)
        indexes = session.range(0, len(tasks), 1, min(len(tasks), _MOST_PARTITIONS))
        done = indexes.mapInArrow(warm_first(work), "id BIGINT, result BINARY")
        amount = sum(sizes) if sizes else len(tasks)
        with nullcontext() if progress is None else following(session, progress, amount):
            rows = done.collect()
        return [(row["id"], pickle.loads(bytes(row["result"]))) for row in rows]
