"""A Spark that spark-submit has started: what it was given stands, and what it lacks is told."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from importlib.metadata import PackageNotFoundError
from pathlib import Path
from typing import TYPE_CHECKING

from pipeline.errors import MissingRequirementError
from pipeline.lake.stores import use_conf
from pipeline.spark.jars import delta_package

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

NAME = "spark.app.name"
"""Without --name it is that of the program's file, `job.py`, which tells nobody anything."""
EXTENSIONS = "spark.sql.extensions"
DELTA = "io.delta.sql.DeltaSparkSessionExtension"


def is_submitted() -> bool:
    """Whether this process is a program that spark-submit runs: Java was there before it."""
    return "PYSPARK_GATEWAY_PORT" in os.environ


def given_conf() -> dict[str, str]:
    """What spark-submit's options and its defaults file say."""
    from pyspark import SparkConf, SparkContext

    SparkContext._ensure_initialized()
    return dict(SparkConf().getAll())


def use_stores(conf: Mapping[str, str]) -> None:
    """Let every client of stores heed conf's settings, and those that spark-submit was given."""
    use_conf({**(given_conf() if is_submitted() else {}), **conf})


def merged(
    ours: Mapping[str, str], relied_on: Mapping[str, str], given: Mapping[str, str]
) -> dict[str, str]:
    """What to add to `given`: of `ours` what is not said there, and what values rest on.

    Extensions stand beside those of others, and a name that spark-submit was given stays.
    """
    added = {key: value for key, value in ours.items() if key not in given} | dict(relied_on)
    if given.get(NAME) not in (None, Path(sys.argv[0]).name):
        added[NAME] = given[NAME]
    extensions = [name for name in given.get(EXTENSIONS, "").split(",") if name]
    if DELTA not in extensions:
        added[EXTENSIONS] = ",".join([*extensions, DELTA])
    return added


def require_delta(spark: SparkSession, name: str = DELTA) -> None:
    """MissingRequirementError where Java has no Delta, which Spark itself would tell much later."""
    if is_loadable(spark, name):
        return
    raise MissingRequirementError(
        "this Spark has no Delta, which spark-submit must be given.",
        remedy=f"Submit with --packages {_package()}, or its jars with --jars"
        " (docs/guides/clusters.md).",
    )


def is_loadable(spark: SparkSession, name: str) -> bool:
    """Whether Java has a class, as far as that can be asked."""
    jvm = spark.sparkContext._jvm
    return jvm is None or bool(getattr(jvm, "org.apache.spark.util.Utils").classIsLoadable(name))


def _package() -> str:
    try:
        return delta_package()
    except PackageNotFoundError:  # Spark is there without pip
        return "io.delta:delta-spark_…"
