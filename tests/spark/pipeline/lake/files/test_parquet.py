"""The format of Parquet files (decision 0024), of which Spark can read parts."""

from __future__ import annotations

from pathlib import Path

import pyarrow.parquet as pq
from pyspark.sql import DataFrame, SparkSession, functions as sf

from pipeline.lake.delta_log.model import LakeTable
from pipeline.lake.files.data_files import write_rows

ROWS = 300_000
"""Three pages of a column in silver."""


def written(spark: SparkSession, folder: Path) -> pq.ParquetFile:
    """Texts with few and with many distinct values, times and numbers, written by a session."""
    rows(spark).coalesce(1).write.parquet(str(folder))
    (file,) = folder.glob("*.parquet")
    return pq.ParquetFile(file)


def rows(spark: SparkSession) -> DataFrame:
    return spark.range(ROWS).select(
        "id",
        (sf.col("id") % 3).cast("string").alias("few"),
        sf.md5(sf.col("id").cast("string")).alias("many"),
        sf.timestamp_seconds(sf.col("id")).alias("at"),
        sf.xxhash64("id").cast("decimal(38,18)").alias("amount"),
    )


def columns_of(file: pq.ParquetFile) -> list[pq.ColumnChunkMetaData]:
    """Return the column chunks of the first row group."""
    group = file.metadata.row_group(0)
    return [group.column(n) for n in range(group.num_columns)]


def test_tables_have_small_dictionaries_and_times_with_statistics(
    spark: SparkSession, tmp_path: Path
) -> None:
    file = written(spark, tmp_path / "rows")
    columns = {column.path_in_schema: column for column in columns_of(file)}
    # Values are plain from where the dictionary is full.
    assert {name for name, c in columns.items() if "PLAIN" not in c.encodings} == {"few"}
    assert {c.compression for c in columns.values()} == {"ZSTD"}
    assert columns["at"].physical_type == "INT64"
    assert columns["at"].statistics.has_min_max


def test_silver_has_no_dictionaries_and_parts_of_it_can_be_read(
    spark: SparkSession, tmp_path: Path
) -> None:
    given = rows(spark).toArrow().sort_by("id")
    table = LakeTable(str(tmp_path / "silver"), given.schema)
    (written_file,) = write_rows(table.reference, table, given)
    file = pq.ParquetFile(f"{written_file.folder}/{written_file.name}")
    assert not [c.path_in_schema for c in columns_of(file) if c.has_dictionary_page]
    assert {column.compression for column in columns_of(file)} == {"ZSTD"}
    # Pages of the other columns do not begin where those of `id` do: their rows are skipped.
    found = spark.read.parquet(str(tmp_path / "silver")).where(f"id >= {ROWS - 50_001}").toArrow()
    assert found.sort_by("id").cast(given.schema) == given.slice(ROWS - 50_001)
    assert found.num_rows == 50_001
