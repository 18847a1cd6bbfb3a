"""Tasks run the same in this process and on Spark's workers; the choice between them."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from pyspark.errors import PythonException
from pyspark.sql import SparkSession

from decoder import BinlogError
from pipeline.settings import Settings
from pipeline.spark import engine as engines
from pipeline.spark.engine import SMALL, Engine, LocalEngine, SparkEngine, engine_of
from tests.support.observe.counted_progress import CountedTask


@pytest.fixture(params=["local", "spark"])
def engine(request: pytest.FixtureRequest, spark: SparkSession) -> Engine:
    return LocalEngine(2) if request.param == "local" else SparkEngine(spark)


def squared(number: int) -> int:
    return number * number


def failing_at_two(number: int) -> int:
    if number == 2:
        raise BinlogError("the second one is damaged", file="log.000002", position=4)
    return number


def test_results_come_with_the_tasks_index_and_progress_counts_sizes(
    engine: Engine,
) -> None:
    counted = CountedTask()
    found = engine.run(squared, [3, 4, 5], counted, [10, 20, 30])
    assert dict(found) == {0: 9, 1: 16, 2: 25}
    assert sum(counted.amounts) == 60
    assert engine.run(squared, []) == []


def test_more_tasks_than_partitions_all_run(
    spark: SparkSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(engines, "_MOST_PARTITIONS", 3)
    counted = CountedTask()
    found = SparkEngine(spark).run(squared, range(10), counted)
    assert dict(found) == {number: number * number for number in range(10)}
    assert sum(counted.amounts) == 10


def test_the_first_error_of_a_task_is_raised(engine: Engine) -> None:
    error = BinlogError if isinstance(engine, LocalEngine) else PythonException
    with pytest.raises(error, match=r"log\.000002, position 4: the second one is damaged"):
        engine.run(failing_at_two, [1, 2, 3])


@pytest.mark.parametrize(
    ("choice", "size", "environment", "expected"),
    [
        ("auto", SMALL, {}, LocalEngine),
        ("auto", SMALL + 1, {}, SparkEngine),
        ("auto", 1, {"PYSPARK_GATEWAY_PORT": "1"}, SparkEngine),  # spark-submit
        ("auto", 1, {"DATABRICKS_RUNTIME_VERSION": "17"}, SparkEngine),
        ("local", SMALL + 1, {}, LocalEngine),
        ("local", 1, {"PYSPARK_GATEWAY_PORT": "1"}, SparkEngine),
        ("local", 1, {"DATABRICKS_RUNTIME_VERSION": "17"}, SparkEngine),
        ("spark", 1, {}, SparkEngine),
    ],
)
def test_small_work_runs_in_this_process_if_spark_has_only_this_machine(
    spark: SparkSession,
    monkeypatch: pytest.MonkeyPatch,
    choice: str,
    size: int,
    environment: dict[str, str],
    expected: Callable[..., Engine],
) -> None:
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    settings = Settings.load(None, engine=choice)
    chosen = engine_of(spark, settings, size)
    assert type(chosen) is expected
    if isinstance(chosen, LocalEngine):
        assert chosen.threads == 2  # as local[2] says


def test_with_a_cluster_tasks_run_in_this_process_only_if_configured(
    spark: SparkSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(engines, "master_of", lambda _: "spark://host:7077")
    assert isinstance(engine_of(spark, Settings.load(None), 1), SparkEngine)
    assert isinstance(engine_of(spark, Settings.load(None, engine="local"), 1), LocalEngine)
