"""Workers on this machine get no copy of Binlake: they use the same files."""

from __future__ import annotations

from pyspark.sql import SparkSession

from pipeline.spark.ship_code import ship


def test_nothing_is_shipped_to_this_machine(spark: SparkSession) -> None:
    before = list(spark.sparkContext.listFiles)
    ship(spark)
    assert list(spark.sparkContext.listFiles) == before
