"""Lazy start of Spark: when something needs it, once, in any thread or in the background."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor
from typing import cast

import pytest
from pyspark.sql import SparkSession

from pipeline.errors import MissingRequirementError
from pipeline.lake.child_sessions import is_connected, master_of
from pipeline.lake.lazy_spark import LITTLE, StartingSpark, start_early, started
from pipeline.lake.tables.choice import tables_of
from pipeline.lake.tables.native import NativeTables
from pipeline.settings import Settings
from pipeline.spark.engine import LocalEngine, SparkEngine, engine_of


class Starts:
    """Counts requests for a session, and the threads that made them."""

    def __init__(self, error: Exception | None = None) -> None:
        self.threads: list[str] = []
        self.session = cast(SparkSession, object())
        self._error = error

    def __call__(self) -> SparkSession:
        self.threads.append(threading.current_thread().name)
        if self._error is not None:
            raise self._error
        return self.session


def test_nothing_starts_before_it_is_needed() -> None:
    starts = Starts()
    spark = StartingSpark(starts, "local[2]")
    assert (spark.running, starts.threads) == (None, [])
    assert started(spark) is starts.session is started(spark) is spark.running
    assert starts.threads == [threading.current_thread().name]


def test_it_starts_once_for_all_threads() -> None:
    starts = Starts()
    spark = StartingSpark(starts, "local[2]", beside=True)
    with ThreadPoolExecutor(8) as pool:
        found = set(pool.map(lambda _: started(spark), range(64)))
    assert found == {starts.session}
    assert len(starts.threads) == 1


def test_it_starts_in_the_background_if_the_command_needs_it_later() -> None:
    starts = Starts()
    spark = StartingSpark(starts, "local[2]", beside=True)
    start_early(spark, 1)
    start_early(spark, 2)
    assert started(spark) is starts.session
    assert len(starts.threads) == 1
    assert starts.threads != [threading.current_thread().name]


def test_it_does_not_start_early_if_the_command_may_need_no_spark() -> None:
    starts = Starts()
    spark = StartingSpark(starts, "local[2]", beside=True)
    start_early(spark, 1, needed=False)
    assert (starts.threads, spark.little) == ([], True)
    assert started(spark) is starts.session
    assert starts.threads == [threading.current_thread().name]


@pytest.mark.parametrize(
    ("size", "little"), [(0, True), (LITTLE, True), (LITTLE + 1, False), (None, False)]
)
def test_little_work_is_known_by_its_size(size: int | None, little: bool) -> None:
    starts = Starts()
    spark = StartingSpark(starts, "local[2]", beside=True)
    start_early(spark, size)
    started(spark)
    assert spark.little is little


def test_a_process_that_stays_is_compiled_for_whatever_its_first_work_is() -> None:
    spark = StartingSpark(Starts(), "local[2]", beside=True, lasting=True)
    start_early(spark, 1)
    started(spark)
    assert not spark.little


def test_it_does_not_start_in_the_background_if_nothing_needs_it() -> None:
    starts = Starts()
    start_early(StartingSpark(starts, "local[2]"), 1)
    assert starts.threads == []


@pytest.mark.parametrize("beside", [True, False])
def test_an_error_at_start_is_raised_where_the_session_is_needed(beside: bool) -> None:
    error = MissingRequirementError("there is no JDK.", remedy="Install one.")
    starts = Starts(error)
    spark = StartingSpark(starts, "local[2]", beside=beside)
    start_early(spark, 1)
    for _ in range(2):
        with pytest.raises(MissingRequirementError, match="no JDK"):
            started(spark)
    assert starts.threads[1:] == [threading.current_thread().name]


@pytest.mark.parametrize(
    ("master", "engine", "kind"),
    [
        ("local[2]", "auto", LocalEngine),
        ("spark://host:7077", "auto", SparkEngine),
        ("spark://host:7077", "local", LocalEngine),
        ("local[2]", "spark", SparkEngine),
    ],
)
def test_tables_and_engines_are_chosen_without_starting_it(
    tmp_path: object, master: str, engine: str, kind: type
) -> None:
    starts = Starts()
    spark = StartingSpark(starts, master)
    settings = Settings.load(None, lake=str(tmp_path), engine=engine)
    assert isinstance(tables_of(spark, settings.layout), NativeTables)
    chosen = engine_of(spark, settings, 0)
    assert isinstance(chosen, kind)
    assert chosen.run(str, []) == []
    assert (is_connected(spark), master_of(spark)) == (False, master)
    assert starts.threads == []
