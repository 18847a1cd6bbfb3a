"""Few rows: Spark works on them sooner than it has compiled code for that."""

from __future__ import annotations

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


def make_active(spark: SparkSession) -> None:
    """Put a session back: whoever creates rows makes theirs the active one, which others take up.

    PySpark has no other way to say so.
    """
    spark.createDataFrame([], "nothing int")
