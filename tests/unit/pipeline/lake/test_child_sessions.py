from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest
from pyspark.errors import PySparkException

from pipeline.lake.child_sessions import setting, tasks_per_job
from tests.support.spark.hidden_settings import HiddenSettings


@pytest.mark.parametrize(
    ("value", "tasks"),
    [("1", 1), ("800", 800), ("0", 1), ("auto", 200), (None, 200)],
)
def test_the_number_of_tasks_is_that_of_shuffle_partitions(value: str | None, tasks: int) -> None:
    """Databricks returns `auto`, which open source Spark does not accept."""
    spark: Any = SimpleNamespace(conf=SimpleNamespace(get=lambda name, default: value))
    assert tasks_per_job(spark) == tasks


def test_a_setting_that_a_server_does_not_return_is_none() -> None:
    serverless: Any = SimpleNamespace(conf=HiddenSettings("CONFIG_NOT_AVAILABLE"))
    assert setting(serverless, "spark.master") is None
    assert tasks_per_job(serverless) == 200


def test_another_error_about_a_setting_is_raised() -> None:
    spark: Any = SimpleNamespace(conf=HiddenSettings("SESSION_CLOSED"))
    with pytest.raises(PySparkException):
        setting(spark, "spark.master")
