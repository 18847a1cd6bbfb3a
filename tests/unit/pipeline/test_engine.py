"""Where tasks run, how far they are, and how they end where one fails or nobody waits for them."""

from __future__ import annotations

import os
import signal
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from pyspark.errors import PythonException
from pyspark.sql import SparkSession

from decoder.errors import BinlogError
from pipeline import engine as engines
from pipeline.bronze.storage import read_windows
from pipeline.engine import SMALL, Engine, LocalEngine, SparkEngine, engine_of
from pipeline.settings import Settings
from tests.support.counted_progress import CountedTask


@pytest.fixture(params=["local", "spark"])
def engine(request: pytest.FixtureRequest, spark: SparkSession) -> Engine:
    return LocalEngine(2) if request.param == "local" else SparkEngine(spark)


def squared(number: int) -> int:
    return number * number


def failing_at_two(number: int) -> int:
    if number == 2:
        raise BinlogError("the second one is damaged", file="log.000002", position=4)
    return number


def test_each_task_gives_its_result_under_its_number_and_progress_counts_sizes(
    engine: Engine,
) -> None:
    told = CountedTask()
    found = engine.run(squared, [3, 4, 5], told, [10, 20, 30])
    assert dict(found) == {0: 9, 1: 16, 2: 25}
    assert sum(told.amounts) == 60
    assert engine.run(squared, []) == []


def test_more_tasks_than_partitions_all_run(
    spark: SparkSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(engines, "_MOST_PARTITIONS", 3)
    told = CountedTask()
    found = SparkEngine(spark).run(squared, range(10), told)
    assert dict(found) == {number: number * number for number in range(10)}
    assert sum(told.amounts) == 10


def test_the_first_error_of_a_task_is_raised(engine: Engine) -> None:
    error = BinlogError if isinstance(engine, LocalEngine) else PythonException
    with pytest.raises(error, match=r"log\.000002, position 4: the second one is damaged"):
        engine.run(failing_at_two, [1, 2, 3])


def read_forever(path: str) -> int:
    with Path(path).open("rb") as stream:
        return sum(len(window) for window in read_windows(stream, None))


def failing_or_forever(path: str) -> int:
    if not path:
        raise ValueError("no path")
    return read_forever(path)


def working() -> list[threading.Thread]:
    return [t for t in threading.enumerate() if t.name.startswith("ThreadPoolExecutor")]


def test_no_task_goes_on_where_one_has_failed() -> None:
    began, before = time.monotonic(), working()
    with pytest.raises(ValueError, match="no path"):
        LocalEngine(3).run(failing_or_forever, ["/dev/zero", "/dev/zero", "", "/dev/zero"])
    assert time.monotonic() - began < 5
    assert set(working()) <= set(before)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM], ids=["Ctrl-C", "SIGTERM"])
def test_no_task_goes_on_after_a_signal(number: signal.Signals) -> None:
    def interrupted(*_: Any) -> None:
        raise KeyboardInterrupt

    handler = signal.signal(number, interrupted)
    timer = threading.Timer(0.5, os.kill, (os.getpid(), number))
    before = working()
    try:
        timer.start()
        with pytest.raises(KeyboardInterrupt):
            LocalEngine(2).run(read_forever, ["/dev/zero"] * 5)
    finally:
        timer.cancel()
        signal.signal(number, handler)
    assert set(working()) <= set(before)


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
def test_small_work_stays_here_where_spark_is_ours_and_has_one_machine(
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


def test_on_a_cluster_no_task_runs_here_unless_conf_says_so(
    spark: SparkSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(engines, "master_of", lambda _: "spark://host:7077")
    assert isinstance(engine_of(spark, Settings.load(None), 1), SparkEngine)
    assert isinstance(engine_of(spark, Settings.load(None, engine="local"), 1), LocalEngine)
