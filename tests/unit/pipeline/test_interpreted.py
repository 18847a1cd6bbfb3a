"""A session for few rows."""

from __future__ import annotations

import pytest
from pyspark.sql import SparkSession, functions as sf

from pipeline.interpreted import INTERPRETED, interpreted, looking, make_active
from pipeline.sessions import own_session


def test_nothing_is_compiled_in_it_and_its_parent_stays_as_it_is(spark: SparkSession) -> None:
    before = {name: spark.conf.get(name) for name in INTERPRETED}
    session = interpreted(spark)
    assert {name: session.conf.get(name) for name in INTERPRETED} == INTERPRETED
    assert {name: spark.conf.get(name) for name in INTERPRETED} == before
    plan = session.range(9).where("id > 3").select(sf.sum("id"))
    assert "*(" not in plan._jdf.queryExecution().executedPlan().toString()
    assert [row[0] for row in plan.collect()] == [30]


def test_a_layers_own_session_is_active_only_while_it_is_in_use(spark: SparkSession) -> None:
    def use_and_fail() -> None:
        with looking(spark) as session:
            assert {name: session.conf.get(name) for name in INTERPRETED} == INTERPRETED
            # Rows that are created make their session the active one.
            session.createDataFrame([(1,)], "id int").collect()
            assert SparkSession.getActiveSession() is session
            raise ValueError("it fails")

    make_active(spark)
    with pytest.raises(ValueError, match="it fails"):
        use_and_fail()
    assert SparkSession.getActiveSession() is spark


def test_what_a_server_does_not_let_be_set_is_left(spark: SparkSession) -> None:
    session = interpreted(spark)
    fixed = "spark.sql.warehouse.dir"
    assert not session.conf.isModifiable(fixed)
    before = session.conf.get(fixed)
    session = own_session(session, {fixed: "elsewhere", "spark.sql.shuffle.partitions": "7"})
    assert (session.conf.get(fixed), session.conf.get("spark.sql.shuffle.partitions")) == (
        before,
        "7",
    )
