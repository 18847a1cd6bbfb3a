"""The settings files for a laptop, ten workers and a hundred: Spark supports all of them."""

from __future__ import annotations

from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from pipeline.lake.child_sessions import child_session, tasks_per_job
from pipeline.settings import Settings

REPOSITORY = Path(__file__).parents[4]
SIZES = sorted((REPOSITORY / "conf" / "sizes").glob("*.yml"))
CORES = {"laptop": None, "ten-workers": 40, "hundred-workers": 400}


@pytest.mark.parametrize("file", SIZES, ids=lambda file: file.stem)
def test_spark_knows_every_setting(spark: SparkSession, file: Path) -> None:
    java = spark._jvm.org.apache.spark
    # Delta's are known once the class that declares them is in use.
    java.sql.delta.sources.DeltaSQLConf.DELTA_SNAPSHOT_PARTITIONS()

    def known(key: str) -> bool:
        return java.internal.config.ConfigEntry.findEntry(key) is not None

    assert [key for key in Settings.load(file).spark.conf if not known(key)] == []
    assert not known("spark.sql.shuffle.partition")  # a misspelled one is detected


@pytest.mark.parametrize("file", SIZES, ids=lambda file: file.stem)
def test_work_is_split_into_twice_as_many_tasks_as_cores(spark: SparkSession, file: Path) -> None:
    cores = CORES[file.stem]
    if cores is not None:
        session = child_session(spark, Settings.load(file).spark.conf)
        assert tasks_per_job(session) == 2 * cores
