"""A session that is there is used as it is: none is started."""

from __future__ import annotations

import pytest
from pyspark.sql import SparkSession

from pipeline.lake.starting import expected, started
from pipeline.settings import Settings
from pipeline.spark.session import spark_for


def test_an_existing_session_is_used(spark: SparkSession, monkeypatch: pytest.MonkeyPatch) -> None:
    # Whichever session earlier tests used last: PySpark takes that for the active one.
    monkeypatch.setattr(SparkSession, "getActiveSession", lambda: spark)
    assert started(spark) is spark
    expected(spark, 1)
    assert spark_for(Settings.load(None)) is spark
