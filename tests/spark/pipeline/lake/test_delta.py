"""Steps that are repeated, killed between commits, or in conflict with another writer."""

from __future__ import annotations

import threading
from collections.abc import Callable
from pathlib import Path

import pytest
from delta.exceptions import ConcurrentTransactionException
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession, functions as sf
from pyspark.sql.conf import RuntimeConfig as RuntimeConf

from pipeline.errors import ConcurrentRunError
from pipeline.lake import delta
from pipeline.lake.child_sessions import child_session
from pipeline.lake.delta_step import Step
from pipeline.lake.sql_text import in_sql
from tests.support.lake.table_rows import read_table

Append = Callable[..., None]


@pytest.fixture
def table(tmp_path: Path) -> str:
    return str(tmp_path / "lake" / "table")


def rows(spark: SparkSession, *numbers: int) -> DataFrame:
    return spark.createDataFrame([(n,) for n in numbers], "n int").coalesce(1)


def numbers(table: str) -> list[int]:
    return sorted(read_table(table)[1].column("n").to_pylist())


def together(*actions: Callable[[], object]) -> list[BaseException]:
    """Run the actions concurrently; return the errors they raised."""
    errors: list[BaseException] = []
    barrier = threading.Barrier(len(actions))

    def run(action: Callable[[], object]) -> None:
        barrier.wait()
        try:
            action()
        except BaseException as error:
            errors.append(error)

    threads = [threading.Thread(target=run, args=(action,)) for action in actions]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return errors


@pytest.fixture
def unlocked(monkeypatch: pytest.MonkeyPatch) -> None:
    """Disable the machine's lock, as for an object store: only Delta's own checks remain."""
    monkeypatch.setattr("pipeline.lake.locks.lock.local_path", lambda table: None)


def test_a_folder_without_a_commit_is_not_a_table(spark: SparkSession, table: str) -> None:
    assert not delta.exists(spark, table)
    Path(table, "_delta_log").mkdir(parents=True)
    assert not delta.exists(spark, table)
    delta.append_once(rows(spark, 1), table, Step("a", 1))
    assert delta.exists(spark, table)


def test_a_version_is_written_once_whatever_its_data(spark: SparkSession, table: str) -> None:
    """Its data is not even evaluated."""
    broken = spark.range(1).selectExpr("CAST(raise_error('evaluated') AS int) AS n")
    delta.append_once(rows(spark, 1), table, Step("a", 1))
    delta.append_once(broken, table, Step("a", 1))
    delta.append_once(rows(spark, 3), table, Step("a", 2))
    delta.append_once(rows(spark, 4), table, Step("b", 1))
    assert numbers(table) == [1, 3, 4]


def test_overwriting_once_replaces_rows_and_schema(spark: SparkSession, table: str) -> None:
    delta.append_once(rows(spark, 1, 2), table, Step("a", 1))
    wider = spark.createDataFrame([(7, "x")], "n int, t string")
    for _ in range(2):
        delta.overwrite_once(wider, table, Step("a", 2))
    assert [tuple(row) for row in delta.read(spark, table).collect()] == [(7, "x")]
    assert delta.read(spark, table, version=0).count() == 2


def merge(rows: DataFrame, table: str, app: str = "m") -> None:
    there = sf.col(delta.target_column(table, "n"))
    delta.merge_once(
        rows,
        table,
        Step(app, 1),
        on=there == sf.col(delta.merged_column("n")),
        clauses=lambda merge: merge.whenMatched().delete().whenNotMatched().insertAll(),
    )


def test_merges_and_updates_are_done_once_at_any_path(spark: SparkSession, tmp_path: Path) -> None:
    """They leave nothing in the caller's session."""
    path = f"{tmp_path}/a b.c it`s dé x'y/trailing/"
    table = f"file://{path}"
    delta.append_once(rows(spark, 1, 2), path, Step("a", 1))
    for _ in range(2):
        merge(rows(spark, 2, 3), path)
    assert numbers(path) == [1, 3]
    merge(rows(spark, 3, 4), table, app="other")
    assert numbers(path) == [1, 4]
    for _ in range(2):
        update = f"UPDATE {in_sql(table)} SET n = n + 1"
        delta.execute_once(spark, update, table, Step("u", 1))
    assert numbers(path) == [2, 5]
    assert spark.conf.get(delta.TXN_APP_ID, None) is None
    assert not [view for view in spark.catalog.listTables() if view.name.startswith("binlake")]


def test_a_merge_is_done_once_without_a_transaction_identifier(
    spark: SparkSession, table: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    members = {"getCondition": lambda _: "CONFIG_NOT_AVAILABLE"}
    unavailable = type("Unavailable", (PySparkException,), members)
    set_any = RuntimeConf.set

    def refuse(conf: RuntimeConf, key: str, value: str) -> None:
        if key in (delta.TXN_APP_ID, delta.TXN_VERSION):
            raise unavailable(f"{key} cannot be set here")
        set_any(conf, key, value)

    monkeypatch.setattr(RuntimeConf, "set", refuse)
    delta.append_once(rows(spark, 1, 2), table, Step("a", 1))
    for _ in range(2):
        merge(rows(spark, 2, 3), table)
    assert numbers(table) == [1, 3]
    merge(rows(spark, 3, 4), table, app="other")
    assert numbers(table) == [1, 4]


def test_a_child_session_has_the_settings_of_its_parent(spark: SparkSession) -> None:
    spark.conf.set("spark.sql.shuffle.partitions", "3")
    try:
        own = child_session(spark, {"parquet.page.size.row.check.min": "1"})
    finally:
        spark.conf.set("spark.sql.shuffle.partitions", "2")
    assert own.conf.get("spark.sql.shuffle.partitions") == "3"
    assert own.conf.get("spark.sql.session.timeZone") == "UTC"
    assert own.conf.get("parquet.page.size.row.check.min") == "1"
    assert spark.conf.get("parquet.page.size.row.check.min", None) is None


@pytest.mark.usefixtures("unlocked")
@pytest.mark.parametrize("created", [False, True])
def test_two_writers_of_one_step_write_it_once(
    spark: SparkSession, table: str, created: bool
) -> None:
    if created:
        delta.append_once(rows(spark), table, Step("a", 1))
    append: Append = delta.append_once
    errors = together(
        lambda: append(rows(spark, 1), table, Step("b", 1)),
        lambda: append(rows(spark, 1), table, Step("b", 1)),
    )
    assert errors == []
    assert numbers(table) == [1]


@pytest.mark.usefixtures("unlocked")
def test_two_writers_of_different_steps_that_create_a_table_both_write(
    spark: SparkSession, table: str
) -> None:
    errors = together(
        lambda: delta.append_once(rows(spark, 1), table, Step("a", 1)),
        lambda: delta.append_once(rows(spark, 2), table, Step("b", 1)),
    )
    assert errors == []
    assert numbers(table) == [1, 2]


def test_a_step_that_always_conflicts_is_a_concurrent_run_error(
    monkeypatch: pytest.MonkeyPatch, table: str
) -> None:
    monkeypatch.setattr("pipeline.lake.delta_step.time.sleep", lambda seconds: None)
    tries: list[int] = []

    def lose() -> None:
        tries.append(1)
        raise ConcurrentTransactionException("lost")

    with pytest.raises(ConcurrentRunError, match=r"step 4 of a\) conflicted .* 8 times") as failure:
        delta.commit(lose, table, Step("a", 4))
    assert failure.value.retryable
    assert len(tries) == 8


def test_writers_of_a_local_table_take_turns(tmp_path: Path) -> None:
    inside = 0
    most = 0

    def write() -> None:
        nonlocal inside, most
        inside += 1
        most = max(most, inside)
        threading.Event().wait(0.02)
        inside -= 1

    path = str(tmp_path / "t")
    names = (path, f"file:{path}", f"file://{path}", path + "/")
    errors = together(
        *(lambda name=name: delta.commit(write, name, Step("a", 1)) for name in names)
    )
    assert errors == []
    assert most == 1


def test_a_name_in_a_catalog_is_written_like_a_path(spark: SparkSession) -> None:
    name = "`spark_catalog`.`delta_test`.`orders`"
    replaced = {"where": "source = 's'", "partition_by": ["source"]}
    try:
        assert not delta.exists(spark, name)
        delta.append_once(rows(spark, 1), name, Step("a", 1))
        for _ in range(2):
            delta.append_once(rows(spark, 2), name, Step("a", 2))
            merge(rows(spark, 2, 3), name)
        assert delta.exists(spark, name)
        assert sorted(row["n"] for row in delta.read(spark, name).collect()) == [1, 3]
        delta.overwrite_once(rows(spark, 7).withColumn("m", sf.lit("x")), name, Step("o", 1))
        assert [tuple(row) for row in delta.read(spark, name).collect()] == [(7, "x")]
        assert len(delta.history(spark, name, 100).collect()) == 4
        assert delta.described(spark, name)["numFiles"] > 0
        files = "`spark_catalog`.`delta_test`.`files`"
        for version, number in ((1, 1), (1, 2), (2, 3), (2, 4)):
            part = rows(spark, number).withColumn("source", sf.lit("s"))
            delta.replace_once(part, files, Step("f", version), **replaced)
        assert [row["n"] for row in delta.read(spark, files).collect()] == [3]
    finally:
        spark.sql("DROP DATABASE delta_test CASCADE")
