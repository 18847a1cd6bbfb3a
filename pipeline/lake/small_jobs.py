"""Few rows: Spark works on them sooner than it has compiled code for that."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from pyspark.sql import SparkSession

from pipeline.lake.child_sessions import own_session

FEW = 20_000
"""Changes of a batch, in all its tables, up to which planning takes longer than working."""

INTERPRETED = {
    # It makes a job of every exchange, to look at sizes that are known here.
    "spark.sql.adaptive.enabled": "false",
    "spark.sql.codegen.wholeStage": "false",
    "spark.sql.codegen.factoryMode": "NO_CODEGEN",
}


def interpreted(spark: SparkSession) -> SparkSession:
    """A session beside `spark` in which nothing is compiled."""
    return own_session(spark, INTERPRETED)


@contextmanager
def staying_active(spark: SparkSession) -> Iterator[None]:
    """That session is the active one again behind the block, whatever rows are created in it."""
    try:
        yield
    finally:
        # Whoever creates rows makes theirs the active one: PySpark has no other way to say so.
        spark.createDataFrame([], "nothing int")
