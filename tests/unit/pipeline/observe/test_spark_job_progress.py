"""Progress of Spark's jobs without a status tracker."""

from __future__ import annotations

import pytest

from pipeline.observe import spark_job_progress as job_progress
from pipeline.observe.spark_job_progress import following
from tests.support.observe.counted_progress import CountedTask
from tests.support.spark.no_spark import NO_SPARK


def test_without_a_status_tracker_progress_is_reported_at_the_end(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(job_progress, "context_of", lambda _: None)
    counted = CountedTask()
    with following(NO_SPARK, counted, 7):
        assert counted.amounts == []
    assert counted.amounts == [7]
