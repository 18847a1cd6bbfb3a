"""An existing session is used: none is started."""

from __future__ import annotations

import pytest
from pyspark.sql import SparkSession

from pipeline.lake.lazy_spark import start_early, started
from pipeline.settings import Settings
from pipeline.spark.session import spark_for


def test_an_existing_session_is_used(spark: SparkSession, monkeypatch: pytest.MonkeyPatch) -> None:
    # PySpark's active session is whichever an earlier test used last.
    monkeypatch.setattr(SparkSession, "getActiveSession", lambda: spark)
    assert started(spark) is spark
    start_early(spark, 1)
    assert spark_for(Settings.load(None)) is spark
