"""Progress of Spark's jobs, reported to a progress task while they run.

One Spark job can process gigabytes, and the call that starts it returns when it ends. So a thread
polls how many of its tasks have completed. With Spark Connect, which has no status tracker, the
whole amount is reported when the job ends.
"""

from __future__ import annotations

import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, cast

from pipeline.observe.current_run import repeating
from pipeline.observe.interruption import context_of
from pipeline.observe.progress import Task

if TYPE_CHECKING:
    from pyspark import StatusTracker
    from pyspark.sql import SparkSession

INTERVAL = 0.5
"""Seconds between polls."""
_GROUP = "spark.jobGroup.id"


@contextmanager
def following(spark: SparkSession, task: Task, amount: int) -> Iterator[None]:
    """Advance `task` by `amount` in step with the jobs that this thread starts in the block."""
    context = context_of(spark)
    if context is None:
        yield
        task.advance(amount)
        return
    group, advanced = uuid.uuid4().hex, 0

    def poll() -> None:
        nonlocal advanced
        reached = int(amount * share_done(context.statusTracker(), group))
        task.advance(max(reached - advanced, 0))
        advanced = max(reached, advanced)

    before = context.getLocalProperty(_GROUP)
    context.setLocalProperty(_GROUP, group)
    try:
        with repeating(poll, INTERVAL):
            yield
    finally:
        context.setLocalProperty(_GROUP, cast(str, before))  # None removes it
    task.advance(amount - advanced)


def share_done(tracker: StatusTracker, group: str) -> float:
    """Return the completed share of a job group's tasks, between 0 and 1."""
    jobs = [tracker.getJobInfo(job) for job in tracker.getJobIdsForGroup(group)]
    stages = [tracker.getStageInfo(stage) for job in jobs if job for stage in job.stageIds]
    tasks = sum(stage.numTasks for stage in stages if stage)
    ended = sum(stage.numCompletedTasks for stage in stages if stage)
    return ended / tasks if tasks else 0.0
