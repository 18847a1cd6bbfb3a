"""The settings for a laptop, ten workers and a hundred: Spark knows them, and runs go through."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from pipeline import delta
from pipeline.progress import QuietProgress
from pipeline.run import run_layers
from pipeline.sessions import own_session, tasks_of_a_job
from pipeline.settings import Settings

REPOSITORY = Path(__file__).parents[3]
SIZES = sorted((REPOSITORY / "conf" / "sizes").glob("*.yml"))
LOG = REPOSITORY / "tests" / "data" / "plain.binlog"
CORES = {"laptop": None, "ten-workers": 40, "hundred-workers": 400}


@pytest.mark.parametrize("file", SIZES, ids=lambda file: file.stem)
def test_spark_knows_each_setting(spark: SparkSession, file: Path) -> None:
    java = spark._jvm.org.apache.spark
    # Delta's are known once the class that declares them is in use.
    java.sql.delta.sources.DeltaSQLConf.DELTA_SNAPSHOT_PARTITIONS()

    def known(key: str) -> bool:
        return java.internal.config.ConfigEntry.findEntry(key) is not None

    assert [key for key in Settings.load(file).spark.conf if not known(key)] == []
    assert not known("spark.sql.shuffle.partition")  # a misspelt one is told


@pytest.mark.parametrize("file", SIZES, ids=lambda file: file.stem)
def test_work_is_dealt_to_twice_the_tasks_that_run_at_once(spark: SparkSession, file: Path) -> None:
    cores = CORES[file.stem]
    if cores is not None:
        session = own_session(spark, Settings.load(file).spark.conf)
        assert tasks_of_a_job(session) == 2 * cores


def test_settings_for_a_hundred_workers_give_the_same_gold(
    spark: SparkSession, tmp_path: Path
) -> None:
    logs = tmp_path / "logs"
    logs.mkdir()
    shutil.copy(LOG, logs / "binlog.000001")
    found = []
    for number, file in enumerate([None, REPOSITORY / "conf" / "sizes" / "hundred-workers.yml"]):
        lake = str(tmp_path / str(number))
        settings = Settings.load(file, source="log", binlogs=str(logs), lake=lake)
        session = own_session(spark, settings.spark.conf)
        assert all(report.clean for report in run_layers(session, settings, QuietProgress()))
        cut = delta.read(session, settings.layout.cuts).select("tables").first()
        assert cut is not None
        tables = [delta.read(session, table["path"]).toArrow() for table in cut["tables"]]
        found.append([sorted(map(str, table.to_pylist())) for table in tables])
        assert found[-1]
    assert found[0] == found[1]
