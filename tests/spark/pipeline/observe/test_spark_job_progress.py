"""Progress of Spark's jobs while they run."""

from __future__ import annotations

import time
from collections.abc import Iterator

import pyarrow as pa
import pytest
from pyspark.sql import SparkSession

from pipeline.observe import spark_job_progress as job_progress
from pipeline.observe.progress import Task
from pipeline.observe.spark_job_progress import following
from tests.support.observe.counted_progress import CountedTask


def slowly(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    for batch in batches:
        time.sleep(0.3)
        yield batch


def test_progress_follows_a_jobs_tasks_and_is_complete_at_its_end(
    spark: SparkSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(job_progress, "INTERVAL", 0.05)
    counted = CountedTask()
    task: Task = counted
    with following(spark, task, 1000):
        spark.range(0, 6, 1, 6).mapInArrow(slowly, "id BIGINT").collect()
    assert sum(counted.amounts) == 1000
    assert len([amount for amount in counted.amounts if 0 < amount < 1000]) > 1


def test_a_failed_job_advances_nothing(spark: SparkSession) -> None:
    counted = CountedTask()
    with pytest.raises(ZeroDivisionError), following(spark, counted, 1000):
        raise ZeroDivisionError
    assert sum(counted.amounts) == 0
    assert spark.sparkContext.getLocalProperty("spark.jobGroup.id") is None
