"""How Parquet is written (docs/decisions/0024): what the files say, and that Spark reads parts."""

from __future__ import annotations

from pathlib import Path

import pyarrow.parquet as pq
from pyspark.sql import DataFrame, SparkSession, functions as sf

from pipeline.sessions import own_session
from pipeline.silver.tables import WRITING

ROWS = 300_000
"""Three pages of a column in silver."""
DICTIONARY_ONLY = {"PLAIN_DICTIONARY", "RLE", "BIT_PACKED"}
"""What a column's pages are of, whose values all stand in a dictionary (levels included)."""


def written(spark: SparkSession, folder: Path) -> pq.ParquetFile:
    """Texts of few and of many values, times, and numbers, as a session writes them."""
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


def dictionaries(file: pq.ParquetFile) -> set[str]:
    """The columns that still have one at the end of the first row group."""
    group = file.metadata.row_group(0)
    columns = [group.column(n) for n in range(group.num_columns)]
    return {c.path_in_schema for c in columns if set(c.encodings) <= DICTIONARY_ONLY}


def test_tables_have_small_dictionaries_and_times_with_statistics(
    spark: SparkSession, tmp_path: Path
) -> None:
    file = written(spark, tmp_path / "rows")
    group = file.metadata.row_group(0)
    columns = {group.column(n).path_in_schema: group.column(n) for n in range(group.num_columns)}
    assert dictionaries(file) == {"few"}
    assert {c.compression for c in columns.values()} == {"ZSTD"}
    assert columns["at"].physical_type == "INT64"
    assert columns["at"].statistics.has_min_max


def test_silver_has_no_dictionaries_and_parts_of_it_can_be_read(
    spark: SparkSession, tmp_path: Path
) -> None:
    session = own_session(spark, WRITING)
    file = written(session, tmp_path / "silver")
    assert dictionaries(file) == set()
    # Pages of the other columns do not begin where those of `id` do: their rows are skipped.
    found = spark.read.parquet(str(tmp_path / "silver")).where(f"id >= {ROWS - 50_001}")
    expected = rows(spark).where(f"id >= {ROWS - 50_001}")
    assert found.count() == 50_001
    assert found.exceptAll(expected).isEmpty()
