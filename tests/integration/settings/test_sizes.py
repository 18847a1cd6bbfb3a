"""A run with the settings for a hundred workers yields the same gold as one with the defaults."""

from __future__ import annotations

import shutil
from pathlib import Path

from pyspark.sql import SparkSession

from pipeline.lake.child_sessions import child_session
from pipeline.observe.progress import QuietProgress
from pipeline.settings import Settings
from tests.support.lake.run_layers import run_layers
from tests.support.lake.table_rows import read_table

REPOSITORY = Path(__file__).parents[3]
LOG = REPOSITORY / "tests" / "data" / "plain.binlog"


def test_settings_for_a_hundred_workers_yield_the_same_gold(
    spark: SparkSession, tmp_path: Path
) -> None:
    logs = tmp_path / "logs"
    logs.mkdir()
    shutil.copy(LOG, logs / "binlog.000001")
    found = []
    for number, file in enumerate([None, REPOSITORY / "conf" / "sizes" / "hundred-workers.yml"]):
        lake = str(tmp_path / str(number))
        settings = Settings.load(file, source="log", binlogs=str(logs), lake=lake)
        session = child_session(spark, settings.spark.conf)
        assert all(report.clean for report in run_layers(session, settings, QuietProgress()))
        (cut,) = read_table(settings.layout.cuts)[1].to_pylist()
        tables = [read_table(table["path"])[1] for table in cut["tables"]]
        found.append([sorted(map(str, table.to_pylist())) for table in tables])
        assert found[-1]
    assert found[0] == found[1]
