"""Streams over a folder into which files land, bit by bit, while queries end and start again."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from chispa import assert_df_equality
from pyspark.errors import StreamingQueryException
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


def land_the_rest(folder: Path) -> None:
    for number in (1, 2, 3):
        land(folder, number)


def stream(spark: SparkSession, folder: Path, to: Path, **options: str) -> DataStreamWriter:
    changes = spark.readStream.format("binlog").options(table=TABLE, **options).load(str(folder))
    checkpoint = str(to / "checkpoint")
    return changes.writeStream.option("checkpointLocation", checkpoint).trigger(availableNow=True)


def written(spark: SparkSession, folder: Path, to: Path, **options: str) -> DataStreamWriter:
    query = stream(spark, folder, to, **options)
    return query.format("parquet").option("path", str(to / "rows"))


def rows_at(spark: SparkSession, to: Path) -> DataFrame:
    """Return what was written, some of it perhaps before the table got its last column."""
    return spark.read.option("mergeSchema", "true").parquet(str(to / "rows"))


def assert_each_change_is_there_once(rows: DataFrame) -> None:
    reader = rows.sparkSession.read.format("binlog").option("table", TABLE)
    expected = reader.load(str(FILES[0].parent))
    assert_df_equality(rows.orderBy(*PLACE), expected.orderBy(*PLACE), ignore_nullable=True)


def test_a_restarted_stream_gives_each_change_once(
    spark: SparkSession, landed: Path, tmp_path: Path
) -> None:
    assert run(written(spark, landed, tmp_path, maxBytesPerTrigger="100000")) > 2
    land_the_rest(landed)
    # This query has a column that the table got in the meantime.
    assert run(written(spark, landed, tmp_path, maxFilesPerTrigger="1")) == 3
    assert_each_change_is_there_once(rows_at(spark, tmp_path))


def test_a_change_that_the_querys_schema_lacks_fails_it_before_its_batch_is_written(
    spark: SparkSession, landed: Path, tmp_path: Path
) -> None:
    query = written(spark, landed, tmp_path, maxFilesPerTrigger="1")
    land_the_rest(landed)
    message = r"has a column channel, which the DataFrame's schema lacks. Start the query again"
    with pytest.raises(StreamingQueryException, match=message):
        run(query)
    files = rows_at(spark, tmp_path).select("__file").distinct().orderBy("__file").collect()
    assert [row[0] for row in files] == [file.name for file in FILES[:2]]
    run(written(spark, landed, tmp_path))
    assert_each_change_is_there_once(rows_at(spark, tmp_path))


def test_a_batch_that_failed_after_it_was_written_is_repeated_with_the_same_rows(
    spark: SparkSession, landed: Path, tmp_path: Path
) -> None:
    query = stream(spark, landed, tmp_path, maxBytesPerTrigger="100000")
    with pytest.raises(StreamingQueryException, match="the sink fails"):
        run(query.foreachBatch(sink(tmp_path, failing=1)))
    failed = rows_at(spark, tmp_path).where("batch = 1").select(*PLACE).collect()
    land_the_rest(landed)
    assert run(stream(spark, landed, tmp_path).foreachBatch(sink(tmp_path))) == 2
    rows = rows_at(spark, tmp_path)
    repeated = rows.where("batch = 1").select(*PLACE).collect()
    assert sorted(repeated) == sorted(failed) != []
    assert_each_change_is_there_once(rows.drop("batch"))


def sink(to: Path, failing: int | None = None) -> Callable[[DataFrame, int], None]:
    """Return a sink that replaces a repeated batch's rows, and fails once `failing` is written."""

    def write(rows: DataFrame, batch: int) -> None:
        rows.write.mode("overwrite").parquet(str(to / "rows" / f"batch={batch}"))
        if batch == failing:
            raise OSError("the sink fails")

    return write


def run(query: DataStreamWriter) -> int:
    """Run a query to the end of the log; return how many micro-batches had rows."""
    started = query.start()
    started.awaitTermination()
    return sum(progress.numInputRows > 0 for progress in started.recentProgress)
