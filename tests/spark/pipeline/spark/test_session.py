"""Use of an existing session."""

from __future__ import annotations

from pyspark.sql import SparkSession

from pipeline.settings import Settings
from pipeline.spark.session import RELIED_ON, session


def test_an_active_session_is_used_or_a_child_session_with_the_required_settings(
    spark: SparkSession,
) -> None:
    spark.createDataFrame([], "nothing int")  # another test's may be the active one
    assert session(Settings()) is spark
    other = spark.newSession()
    other.conf.set("spark.sql.session.timeZone", "America/New_York")
    other.conf.set("spark.sql.shuffle.partitions", "3")
    other.createDataFrame([], "nothing int")
    try:
        found = session(Settings())
    finally:
        spark.createDataFrame([], "nothing int")
    assert {name: found.conf.get(name) for name in RELIED_ON} == RELIED_ON
    assert found.conf.get("spark.sql.shuffle.partitions") == "3"
    assert other.conf.get("spark.sql.session.timeZone") == "America/New_York"
