"""Runs of gold with nothing new, or few changes, and a first maintenance need no Spark."""

from __future__ import annotations

from datetime import datetime
from pathlib import Path
from typing import Any

import pytest
from deltalake import DeltaTable
from pyspark.errors import PySparkRuntimeError
from pyspark.sql import SparkSession

from decoder import TableDefinition
from decoder.constants import ColumnType
from decoder.model.definition import ColumnDefinition
from pipeline.gold.apply import apply
from pipeline.gold.job import run
from pipeline.lake import Lake, Ledger
from pipeline.lake.delta_log.delta_rs import DELETED
from pipeline.lake.lazy_spark import StartingSpark
from pipeline.maintenance import run as maintain
from pipeline.observe import LayerReport
from pipeline.observe.progress import QuietProgress
from pipeline.run import run_command
from tests.support.gold.made_lake import MadeLake
from tests.support.lake.table_rows import read_table
from tests.support.observe.receiver import receiver
from tests.support.silver.made_silver import SERVER, SOURCE, MadeTransaction as Tx, definition, item
from tests.support.spark.no_spark import NO_SPARK

T, HELD = definition("t"), definition("held")
WIDE = definition("wide", T.columns[0], ColumnDefinition("v", ColumnType.BLOB, length_bytes=4))


def _refused() -> SparkSession:
    raise AssertionError("nothing here needs Spark")


def _no_java() -> SparkSession:
    raise PySparkRuntimeError("[JAVA_GATEWAY_EXITED] no Java")


def run_without_spark(lake: MadeLake, **options: Any) -> LayerReport:
    spark = StartingSpark(_refused, "local[*]", beside=True)
    return run(spark, lake.settings(**options), QuietProgress())


@pytest.fixture(scope="module")
def lake(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> MadeLake:
    """Return a lake with an active table and one held by a fault, with gold up to date."""
    made = MadeLake(spark, tmp_path_factory.mktemp("settled") / "lake")
    made.silver.batch(
        [Tx(n).insert(T, n, "a").insert(HELD, n, "b") for n in (2, 3)],
        [item("create", 2, T), item("create", 2, HELD)],
    )
    made.run()
    more = [Tx(n).insert(T, n, "a").insert(HELD, n, "b") for n in (4, 5)]
    made.silver.batch(more, faults=[(4, ["shop.held"])])
    made.run()
    return made


@pytest.mark.parametrize("until", [None, f"{SERVER}:3", "2024-01-01T00:00:03Z"])
def test_nothing_new_needs_no_spark_even_with_a_held_table(
    lake: MadeLake, until: str | None
) -> None:
    report = run_without_spark(lake, **({"until": until} if until else {}))
    assert report.batches == ()
    assert "shop.held" in "".join(report.faults)


def test_a_held_table_is_in_the_metrics_and_is_sent_to_the_webhook_once(
    lake: MadeLake, tmp_path: Path
) -> None:
    textfile = tmp_path / "binlake.prom"
    with receiver() as server:
        options = {
            "metrics": {"textfile": str(textfile), "tables": True},
            "notify": {"url": server.url},
        }
        for _ in range(2):
            spark = StartingSpark(_refused, "local[*]", beside=True)
            run_command(spark, lake.settings(**options), QuietProgress(), "apply")
    (body,) = server.bodies
    (held,) = body["new"]
    assert (held["layer"], held["kind"], held["subject"]) == ("gold", "held", "shop.held")
    assert held["reason"] in "".join(run_without_spark(lake).faults)
    assert held["remedy"].endswith(f"binlake retry --source {SOURCE} --lake {lake.root}")
    assert (body["event"], body["well"], body["outcome"]) == ("problem", False, "faults")
    assert datetime.fromisoformat(body["published_at"]) > datetime.fromisoformat(
        body["committed_at"]
    )
    metrics = textfile.read_text()
    labels = f'lake="{lake.root}",source="{SOURCE}"'
    assert f"binlake_held_tables{{{labels}}} 1.0" in metrics
    for table, is_held in (("t", 0), ("held", 1)):
        assert f'{labels},table="shop.{table}"}} {is_held}.0' in metrics


@pytest.mark.parametrize("drift", [False, "full"])
@pytest.mark.parametrize("table", [T, WIDE], ids=["short values", "values of any size"])
def test_few_changes_need_no_spark(
    spark: SparkSession, tmp_path: Path, table: TableDefinition, drift: bool | str
) -> None:
    lake = MadeLake(spark, tmp_path / "lake")
    a, b, c = ("a", "b", "c") if table is T else (b"a", b"b", b"c")
    first = Tx(1).insert(table, 1, a).insert(table, 2, a)
    lake.silver.batch([first], [item("create", 1, table)])
    lake.run()
    changes = Tx(2, rolled_back=[(300, 400)]).update(table, (1, a), (3, b)).delete(table, 2, a)
    changes.insert(table, 5, "rolled back" if table is T else b"rolled back")
    lake.silver.batch([changes, Tx(3).insert(table, 4, c).delete(table, 9, a)])
    report = run_without_spark(lake, drift=drift)
    name = f"shop.{table.table}"
    assert (report.faults, report.counts) == ((), {name: 4})
    _, found = read_table(Lake(lake.root).gold("shop", table.table))
    assert sorted((row["id"], row["v"]) for row in found.to_pylist()) == [(3, b), (4, c)]
    record = Ledger(NO_SPARK, Lake(lake.root), SOURCE).record("gold")
    assert record is not None
    drifted = {"checked": 5, "missing": 1, "extra": 0, "different": 0}
    assert record["drift"] == ({name: drifted} if drift else {})


def test_spark_that_does_not_start_fails_the_run_and_holds_no_table(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    lake = MadeLake(spark, tmp_path / "lake")
    lake.silver.batch([Tx(1).insert(T, 1, "a")], [item("create", 1, T)])
    failing = StartingSpark(_no_java, "local[*]", beside=True)
    with monkeypatch.context() as patched:
        patched.setattr(apply, "apply_few", lambda *_, **__: None)
        with pytest.raises(PySparkRuntimeError, match="no Java"):
            run(failing, lake.settings(), QuietProgress())
    report = lake.run()
    assert (report.faults, report.counts) == ((), {"shop.t": 1})


def test_a_first_run_of_few_changes_needs_no_spark(spark: SparkSession, tmp_path: Path) -> None:
    lake = MadeLake(spark, tmp_path / "lake")
    keyless = definition("keyless", key=())
    rows = [Tx(1).insert(T, 1, "a").insert(keyless, 1, "a").insert(keyless, 1, "a")]
    lake.silver.batch(rows, [item("create", 1, T), item("create", 1, keyless)])
    assert run_without_spark(lake).counts == {"shop.keyless": 2, "shop.t": 1}
    lake.silver.batch([Tx(2).delete(keyless, 1, "a").update(T, (1, "a"), (2, "b"))])
    assert run_without_spark(lake).counts == {"shop.keyless": 1, "shop.t": 1}
    rows_of = {"t": [(2, "b")], "keyless": [(1, "a")]}
    for name, rows in rows_of.items():
        _, found = read_table(Lake(lake.root).gold("shop", name))
        assert [(row["id"], row["v"]) for row in found.to_pylist()] == rows


def test_a_first_maintenance_sets_the_retention_of_gold_without_spark(lake: MadeLake) -> None:
    spark = StartingSpark(_refused, "local[*]")
    (batch,) = maintain(spark, lake.settings(), QuietProgress()).batches
    table = DeltaTable(Lake(lake.root).gold("shop", "t"))
    assert table.metadata().configuration[DELETED] == "interval 12 days"
    assert table.history(1)[0]["userMetadata"] == f"binlake maintain {SOURCE} {batch}"


def test_foreign_commits_are_found_in_the_delta_log_without_spark(lake: MadeLake) -> None:
    path = Lake(lake.root).gold("shop", "t")
    lake.spark.sql(f"OPTIMIZE delta.`{path}`")
    assert "shop.t" not in "".join(run_without_spark(lake).faults)
    rows = lake.spark.read.format("delta").load(path)
    rows.limit(1).write.format("delta").mode("append").save(path)
    # The first run holds the table, which takes a batch.
    assert "changed by another program or user: WRITE" in "".join(run_without_spark(lake).faults)
    assert "changed by another program or user: WRITE" in "".join(run_without_spark(lake).faults)
