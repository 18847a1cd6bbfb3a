"""What is told of Spark's jobs while they run."""

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


def test_the_tasks_of_a_job_advance_it_and_its_end_completes_it(
    spark: SparkSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(job_progress, "INTERVAL", 0.05)
    told = CountedTask()
    task: Task = told
    with following(spark, task, 1000):
        spark.range(0, 6, 1, 6).mapInArrow(slowly, "id BIGINT").collect()
    assert sum(told.amounts) == 1000
    assert len([amount for amount in told.amounts if 0 < amount < 1000]) > 1


def test_a_job_that_fails_completes_nothing(spark: SparkSession) -> None:
    told = CountedTask()
    with pytest.raises(ZeroDivisionError), following(spark, told, 1000):
        raise ZeroDivisionError
    assert sum(told.amounts) == 0
    assert spark.sparkContext.getLocalProperty("spark.jobGroup.id") is None
