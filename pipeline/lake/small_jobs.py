"""Spark sessions for small jobs, which run faster without code generation."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from pyspark.sql import SparkSession

from pipeline.lake.child_sessions import child_session

FEW = 20_000
"""Changes of a batch, over all tables, up to which planning a job takes longer than running it."""

INTERPRETED = {
    # Adaptive execution runs a job per exchange to learn sizes that are known here.
    "spark.sql.adaptive.enabled": "false",
    "spark.sql.codegen.wholeStage": "false",
    "spark.sql.codegen.factoryMode": "NO_CODEGEN",
}


def interpreted(spark: SparkSession) -> SparkSession:
    """Return a child session of `spark` without code generation."""
    return child_session(spark, INTERPRETED)


@contextmanager
def staying_active(spark: SparkSession) -> Iterator[None]:
    """Make `spark` the active session again at the end of the block."""
    try:
        yield
    finally:
        # PySpark can set the active session only by creating a DataFrame in it.
        spark.createDataFrame([], "nothing int")
