"""Streams over a folder into which files land, bit by bit, while queries end and start again."""

from __future__ import annotations

from pathlib import Path

import pytest
from chispa import assert_df_equality
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.streaming import DataStreamWriter

from tests.support.bronze.bronze_input import FILES
from tests.support.spark.binlog_rows import PLACE

TABLE = "shop.orders"


@pytest.fixture
def landed(tmp_path: Path) -> Path:
    """Return a folder with the first file, and half of the second."""
    folder = tmp_path / "landed"
    folder.mkdir()
    land(folder, 0)
    land(folder, 1, FILES[1].stat().st_size // 2)
    return folder


def land(folder: Path, number: int, size: int | None = None) -> None:
    (folder / FILES[number].name).write_bytes(FILES[number].read_bytes()[:size])


def batch(spark: SparkSession, folder: Path) -> DataFrame:
    return spark.read.format("binlog").option("table", TABLE).load(str(folder))


def written(spark: SparkSession, folder: Path, to: Path, **options: str) -> DataStreamWriter:
    changes = spark.readStream.format("binlog").options(table=TABLE, **options).load(str(folder))
    return (
        changes.writeStream.format("parquet")
        .option("path", str(to / "rows"))
        .option("checkpointLocation", str(to / "checkpoint"))
        .trigger(availableNow=True)
    )


def test_a_restarted_stream_gives_each_change_once(
    spark: SparkSession, landed: Path, tmp_path: Path
) -> None:
    run(written(spark, landed, tmp_path, maxBytesPerTrigger="100000"))
    for number in (1, 2, 3):
        land(landed, number)
    batches = run(written(spark, landed, tmp_path))
    # The second query has a column that the table got in the meantime.
    rows = spark.read.option("mergeSchema", "true").parquet(str(tmp_path / "rows"))
    expected = batch(spark, Path(FILES[0].parent))
    assert batches == 1
    assert_df_equality(rows.orderBy(*PLACE), expected.orderBy(*PLACE), ignore_nullable=True)


def run(query: DataStreamWriter) -> int:
    """Run a query to the end of the log; return how many micro-batches had rows."""
    started = query.start()
    started.awaitTermination()
    return sum(progress.numInputRows > 0 for progress in started.recentProgress)
