"""Runs of gold with nothing new inspect the lake without starting Spark."""

from __future__ import annotations

from datetime import datetime
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from pipeline.gold import run
from pipeline.lake import Lake
from pipeline.lake.lazy_spark import StartingSpark
from pipeline.observe import LayerReport
from pipeline.observe.progress import QuietProgress
from pipeline.run import run_command
from tests.support.gold.made_lake import MadeLake
from tests.support.observe.receiver import receiver
from tests.support.silver.made_silver import SERVER, SOURCE, MadeTransaction as Tx, definition, item

T, HELD = definition("t"), definition("held")


def _refused() -> SparkSession:
    raise AssertionError("nothing here needs Spark")


def run_without_spark(lake: MadeLake, **options: str) -> LayerReport:
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


def test_foreign_commits_are_found_in_the_delta_log_without_spark(lake: MadeLake) -> None:
    path = Lake(lake.root).gold("shop", "t")
    lake.spark.sql(f"OPTIMIZE delta.`{path}`")
    assert "shop.t" not in "".join(run_without_spark(lake).faults)
    rows = lake.spark.read.format("delta").load(path)
    rows.limit(1).write.format("delta").mode("append").save(path)
    with pytest.raises(AssertionError, match="nothing here needs Spark"):
        run_without_spark(lake)  # holding a table takes a batch
    assert "changed by somebody else: WRITE" in "".join(lake.run().faults)
    assert "changed by somebody else: WRITE" in "".join(run_without_spark(lake).faults)
