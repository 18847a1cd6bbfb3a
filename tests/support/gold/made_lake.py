"""A lake with handmade silver, and gold's job on it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from pyspark.sql import SparkSession

from pipeline.gold.job import run
from pipeline.observe import LayerReport
from pipeline.observe.progress import QuietProgress
from pipeline.settings import Settings
from tests.support.silver.made_silver import SOURCE, MadeSilver


class MadeLake:
    """A lake: `silver` writes batches of silver, `run` applies them to gold."""

    def __init__(self, spark: SparkSession, folder: Path) -> None:
        self.spark = spark
        self.root = str(folder)
        self.silver = MadeSilver(spark, self.root)

    def settings(self, **options: Any) -> Settings:
        """Return settings with `options`; drift checks, each half a MERGE's work, are off."""
        own = {"parallel_tables": 4, "drift": False}
        return Settings(source=SOURCE, lake=self.root, **{**own, **options})

    def run(self, **options: Any) -> LayerReport:
        """Run gold's job once."""
        return run(self.spark, self.settings(**options), QuietProgress())
