"""Engines that run the tasks of bronze and silver: in this process or on Spark's workers.

A task is a function of a small description with a small result; it reads and writes its data
itself. So the same function can run in a thread here, on a single machine, where starting jobs
would take longer than the work, or in a `mapInArrow` on a cluster.
"""

from __future__ import annotations

import os
import pickle
import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from contextlib import nullcontext
from dataclasses import dataclass
from typing import TypeAlias, TypeVar

import pyarrow as pa

from decoder.stream import warm
from pipeline.lake.child_sessions import is_connected, master_of, tasks_per_job
from pipeline.lake.lazy_spark import Spark, started
from pipeline.observe.interruption import cancel_when_set
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
"""Bytes up to which tasks run in this process if Spark has no other machine: up to there this was
measured to be faster (docs/guides/scaling.md)."""
_TASKS_PER_THREAD = 2
_MOST_PARTITIONS = 1000
"""Most Spark tasks of a job: each takes some milliseconds to start, so that of thousands of small
files several go into one."""


@dataclass(frozen=True, slots=True)
class LocalEngine:
    """Engine for tasks in threads of this process: the decoder and Parquet release the GIL."""

    threads: int
    readers = "this process"
    """The name, in messages, of the processes that run tasks."""

    @property
    def tasks(self) -> int:
        """The number of tasks to split large work into, so that all cores are used."""
        return self.threads * _TASKS_PER_THREAD

    def run(
        self,
        function: Callable[[T], R],
        tasks: Sequence[T],
        progress: Task | None = None,
        sizes: Sequence[int] | None = None,
    ) -> list[tuple[int, R]]:
        """Return each task's index and result, in the order of completion.

        `function`, `tasks` and results must be picklable. `progress` advances by a task's size (1
        without `sizes`) when it ends.

        Raises the first error of a task: in this process the error itself, on Spark a
        PythonException with its text. All other tasks are cancelled then, and after Ctrl-C.
        """
        if not tasks:
            return []
        warm()
        found: list[tuple[int, R]] = []
        cancelled = threading.Event()
        threads = min(len(tasks), self.threads)
        with ThreadPoolExecutor(
            threads, initializer=cancel_when_set, initargs=(cancelled,)
        ) as pool:
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
    """Engine for tasks on Spark's workers, which get the code by `pipeline.spark.ship_code`."""

    spark: Spark
    readers = "Spark's workers"

    @property
    def tasks(self) -> int:
        """See `LocalEngine.tasks`."""
        return tasks_per_job(started(self.spark))

    def run(
        self,
        function: Callable[[T], R],
        tasks: Sequence[T],
        progress: Task | None = None,
        sizes: Sequence[int] | None = None,
    ) -> list[tuple[int, R]]:
        """See `LocalEngine.run`."""
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


Engine: TypeAlias = LocalEngine | SparkEngine


def engine_of(spark: Spark, settings: Settings, size: int) -> Engine:
    """Return the engine for tasks that read `size` bytes in total, by the setting `engine`."""
    small = size <= SMALL and _is_alone(spark)
    local = settings.engine == "local" or (settings.engine == "auto" and small)
    if local and not _is_job():
        return LocalEngine(cores(master_of(spark)))
    return SparkEngine(spark)


def _is_job() -> bool:
    """Return True if spark-submit or Databricks started this program: its driver should not run
    tasks, since it may be much smaller than its workers."""
    return is_submitted() or DATABRICKS in os.environ


def _is_alone(spark: Spark) -> bool:
    """Return True if Spark has only this machine."""
    return not is_connected(spark) and on_this_machine(master_of(spark))
