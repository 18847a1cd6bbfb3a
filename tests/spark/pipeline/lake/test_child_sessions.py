"""Sessions for small jobs."""

from __future__ import annotations

from pyspark.sql import SparkSession, functions as sf

from pipeline.lake.child_sessions import INTERPRETED, child_session, interpreted


def test_code_generation_is_off_only_in_the_child_session(spark: SparkSession) -> None:
    before = {name: spark.conf.get(name) for name in INTERPRETED}
    session = interpreted(spark)
    assert {name: session.conf.get(name) for name in INTERPRETED} == INTERPRETED
    assert {name: spark.conf.get(name) for name in INTERPRETED} == before
    plan = session.range(9).where("id > 3").select(sf.sum("id"))
    assert "*(" not in plan._jdf.queryExecution().executedPlan().toString()
    assert [row[0] for row in plan.collect()] == [30]


def test_settings_that_a_server_refuses_are_skipped(spark: SparkSession) -> None:
    session = interpreted(spark)
    fixed = "spark.sql.warehouse.dir"
    assert not session.conf.isModifiable(fixed)
    before = session.conf.get(fixed)
    session = child_session(session, {fixed: "elsewhere", "spark.sql.shuffle.partitions": "7"})
    assert (session.conf.get(fixed), session.conf.get("spark.sql.shuffle.partitions")) == (
        before,
        "7",
    )
