"""A session in the place of Spark's, for what is to work without one."""

from __future__ import annotations

from typing import cast

from pyspark.sql import SparkSession


class _Untouched:
    """Has what tells a session of this process from one of Spark Connect, and nothing else."""

    def __getattr__(self, name: str) -> object:
        if name == "_jsparkSession":
            return None
        raise AssertionError(f"Spark is asked for {name}")


NO_SPARK = cast(SparkSession, _Untouched())
