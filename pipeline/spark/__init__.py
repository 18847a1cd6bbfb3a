"""Spark: start of the session, its jars and JDK, and the engines that run tasks."""

from __future__ import annotations

from typing import TYPE_CHECKING

from decoder.lazy_names import lazy_names

if TYPE_CHECKING:
    from pipeline.spark.session import spark_for
    from pipeline.spark.ship_code import ship
    from pipeline.spark.spark_submit import apply_to_process

__all__ = [
    "apply_to_process",
    "engine",
    "jars",
    "session",
    "ship",
    "spark_for",
    "spark_submit",
    "warm_kernels",
]

if not TYPE_CHECKING:
    __getattr__ = lazy_names(
        __name__,
        {
            "pipeline.spark.session": "spark_for",
            "pipeline.spark.ship_code": "ship",
            "pipeline.spark.spark_submit": "apply_to_process",
        },
    )
