"""Support for spark-submit: its options take precedence over Binlake's defaults, and `spark.conf`
of the settings over both; what it lacks is reported."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from importlib.metadata import PackageNotFoundError
from pathlib import Path
from typing import TYPE_CHECKING

from pipeline.errors import MissingRequirementError
from pipeline.lake.stores import use_conf
from pipeline.observe import redact
from pipeline.spark.jars import delta_package

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from pipeline.settings import Settings

NAME = "spark.app.name"
"""The application's name; without --name it is the program's file, `job.py`."""
EXTENSIONS = "spark.sql.extensions"
DELTA = "io.delta.sql.DeltaSparkSessionExtension"


def is_submitted() -> bool:
    """Return True if spark-submit runs this process, so that Java is already running."""
    return "PYSPARK_GATEWAY_PORT" in os.environ


def given_conf() -> dict[str, str]:
    """Return the settings of spark-submit's options and its defaults file."""
    from pyspark import SparkConf, SparkContext

    SparkContext._ensure_initialized()
    return dict(SparkConf().getAll())


def apply_to_process(settings: Settings) -> Settings:
    """Make all store clients of this process use the settings, and those that spark-submit was
    given; redact their secrets in all output from now on. Returns the settings."""
    redact.learn(settings.secrets)
    use_conf({**(given_conf() if is_submitted() else {}), **settings.spark.conf})
    return settings


def merged(
    ours: Mapping[str, str], relied_on: Mapping[str, str], given: Mapping[str, str]
) -> dict[str, str]:
    """Return the settings to add to `given`: those of `ours` that it lacks, and `relied_on`.

    Delta's extension is added to those given, and a name given to spark-submit is kept.
    """
    added = {key: value for key, value in ours.items() if key not in given} | dict(relied_on)
    if given.get(NAME) not in (None, Path(sys.argv[0]).name):
        added[NAME] = given[NAME]
    extensions = [name for name in given.get(EXTENSIONS, "").split(",") if name]
    if DELTA not in extensions:
        added[EXTENSIONS] = ",".join([*extensions, DELTA])
    return added


def require_delta(spark: SparkSession, name: str = DELTA) -> None:
    """Raise MissingRequirementError if Java has no Delta; Spark would report it much later."""
    if is_loadable(spark, name):
        return
    raise MissingRequirementError(
        "this Spark has no Delta jars: spark-submit must be given them.",
        remedy=f"Submit with --packages {_package()}, or its jars with --jars"
        " (docs/guides/clusters.md).",
    )


def is_loadable(spark: SparkSession, name: str) -> bool:
    """Return True if Java can load a class, or if there is no JVM to ask."""
    jvm = spark.sparkContext._jvm
    return jvm is None or bool(getattr(jvm, "org.apache.spark.util.Utils").classIsLoadable(name))


def _package() -> str:
    try:
        return delta_package()
    except PackageNotFoundError:  # Spark was not installed by pip
        return "io.delta:delta-spark_…"
