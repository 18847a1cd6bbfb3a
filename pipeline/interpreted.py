"""Few rows: Spark works on them sooner than it has compiled code for that."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from pyspark.sql import SparkSession

from pipeline.sessions import own_session

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
def looking(spark: SparkSession) -> Iterator[SparkSession]:
    """Such a session for a layer's ledger and for what it looks up, which are few rows whatever the
    batch has: to compile code for each of these takes longer than all of the reading.

    Behind it `spark` is the active session again.
    """
    try:
        yield interpreted(spark)
    finally:
        make_active(spark)


def make_active(spark: SparkSession) -> None:
    """Put a session back: whoever creates rows makes theirs the active one, which others take up.

    PySpark has no other way to say so.
    """
    spark.createDataFrame([], "nothing int")
