"""Scratch space between decoding and the tables: blobs in Parquet, a folder per target."""

from __future__ import annotations

import uuid
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession, functions as sf

from pipeline import stores
from pipeline.errors import ConcurrentRunError
from pipeline.lake import Lake
from pipeline.sessions import own_session
from pipeline.silver.blobs import BLOBS, unpack
from pipeline.silver.spark_types import spark_schema

BIG_ROWS = {
    # One row of 16 to 64 MiB at a time between Spark and Python.
    "spark.sql.execution.arrow.maxRecordsPerBatch": "1",
    # So too from Parquet: a batch of thousands grows, copied again and again, to a file's size.
    "spark.sql.parquet.columnarReaderBatchSize": "1",
    # Row groups of these tables are small in number and long in work: one to a task.
    "spark.sql.files.maxPartitionBytes": str(16 << 20),
    "spark.sql.files.openCostInBytes": "0",
    # A file per target is open at once instead of sorting megabytes of blobs by target.
    "spark.sql.maxConcurrentOutputFileWriters": "64",
}
"""Settings of the session in which segments and blobs are read and written."""

_PARQUET = {
    # The blobs are compressed already, and no two are alike.
    "compression": "none",
    "parquet.enable.dictionary": "false",
    # Parquet counts on rows being small: with blobs it must look at every row.
    "parquet.page.size.row.check.min": "1",
    "parquet.page.size.row.check.max": "1",
    "parquet.block.size": str(8 << 20),
}

_BLOB = "blob BINARY"


@dataclass(frozen=True, slots=True)
class Staging:
    """One run's blobs of one batch, in a session that is set for large rows."""

    spark: SparkSession
    path: str

    def write(self, blobs: DataFrame) -> None:
        """Run the decoding and keep what it gives; once per staging."""
        blobs.write.mode("append").options(**_PARQUET).partitionBy("target").parquet(self.path)

    def counts(self) -> dict[str, int]:
        """Rows by target; a target without rows is not there.

        Raises ConcurrentRunError where the folder is gone: that is never the same as no rows.
        """
        if not stores.exists(self.path):
            raise ConcurrentRunError(
                f"{self.path} was removed while it was in use.",
                remedy="Did another run finish the batch, or did someone clean up? Run again.",
            )
        rows = self._blobs().groupBy("target").agg(sf.sum("rows").alias("rows"))
        return {row["target"]: row["rows"] for row in rows.coalesce(1).collect()}

    def unpacked(self, target: str, schema: pa.Schema) -> DataFrame:
        """The rows of a target that has some; `schema` is that of its batches.

        Reads the target's own folder: to find it among hundreds costs a job.
        """
        folder = f"{self.path}/target={target}"
        blobs = self.spark.read.schema(_BLOB).parquet(folder)
        return blobs.mapInArrow(unpack, spark_schema(schema))

    def _blobs(self) -> DataFrame:
        return self.spark.read.schema(spark_schema(BLOBS)).parquet(self.path)


def big_row_session(spark: SparkSession) -> SparkSession:
    """A session of the same application, set for rows of many megabytes."""
    return own_session(spark, BIG_ROWS)


@contextmanager
def staging(spark: SparkSession, lake: Lake, source: str, batch: int) -> Iterator[Staging]:
    """A folder of this run's own for the batch, removed at the end."""
    path = f"{lake.staging}/{source}/{batch}-{uuid.uuid4().hex}"
    try:
        yield Staging(spark, path)
    finally:
        stores.remove(path)


def remove_leftovers(lake: Lake, source: str, finished: int) -> None:
    """Remove what dead runs left of the source's batches up to `finished`."""
    _each(f"{lake.staging}/{source}", lambda name: int(name.partition("-")[0]) <= finished)


def _each(root: str, chosen: Callable[[str], bool]) -> None:
    for name in stores.names_in(root):
        if name[:1].isdigit() and chosen(name):
            stores.remove(f"{root}/{name}")
