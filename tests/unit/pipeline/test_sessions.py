from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from pipeline.sessions import tasks_of_a_job


@pytest.mark.parametrize(
    ("told", "tasks"),
    [("1", 1), ("800", 800), ("0", 1), ("auto", 200), (None, 200)],
)
def test_a_jobs_tasks_are_what_conf_says_of_the_cluster(told: str | None, tasks: int) -> None:
    """Databricks says `auto`, which open source Spark does not let be set."""
    spark: Any = SimpleNamespace(conf=SimpleNamespace(get=lambda name, default: told))
    assert tasks_of_a_job(spark) == tasks
