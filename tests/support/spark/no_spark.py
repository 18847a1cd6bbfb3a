"""Stand-ins for the Spark session, for tests of what works without one."""

from __future__ import annotations

from typing import cast

from pyspark.sql import SparkSession

from pipeline.lake.lazy_spark import StartingSpark


class _Untouched:
    """Distinguishes a local session from one of Spark Connect, and supports nothing else."""

    def __getattr__(self, name: str) -> object:
        if name == "_jsparkSession":
            return None
        raise AssertionError(f"Spark was asked for {name}")


NO_SPARK = cast(SparkSession, _Untouched())


def _refused() -> SparkSession:
    raise AssertionError("Spark was started")


NEVER_STARTED = StartingSpark(_refused, "local[2]")
"""Local Spark on two cores that fails a test by starting: for jobs that ask where tasks run, which
`NO_SPARK` cannot answer.
"""
