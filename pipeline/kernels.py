"""The decoder's kernels are compiled once per machine: before Spark's workers ask for them."""

from __future__ import annotations

from pyspark.sql import SparkSession

from decoder.warm import is_warm, warm
from pipeline.progress import Progress


def warm_kernels(spark: SparkSession, progress: Progress) -> None:
    """Compile them, if the workers are on this machine and nobody has: some 20 seconds, shown."""
    if is_warm() or not (spark.conf.get("spark.master", "") or "").startswith("local"):
        return
    with progress.task("compile the decoder for this machine, once", unit="kernels") as task:
        warm(lambda _: task.advance())
