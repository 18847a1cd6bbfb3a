"""A lake whose silver is made by hand, and gold's job on it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from pyspark.sql import SparkSession

from pipeline.gold import run
from pipeline.observe import LayerReport
from pipeline.observe.progress import QuietProgress
from pipeline.settings import Settings
from tests.support.silver.made_silver import SOURCE, MadeSilver


class MadeLake:
    """`silver` writes its batches, `run` brings gold up to them."""

    def __init__(self, spark: SparkSession, folder: Path) -> None:
        self.spark = spark
        self.root = str(folder)
        self.silver = MadeSilver(spark, self.root)

    def settings(self, **options: Any) -> Settings:
        """The lake's own settings, and `options`. Nobody looks for drift: a look is half a
        MERGE."""
        own = {"parallel_tables": 4, "drift": False}
        return Settings(source=SOURCE, lake=self.root, **{**own, **options})

    def run(self, **options: Any) -> LayerReport:
        """One run of gold's job."""
        return run(self.spark, self.settings(**options), QuietProgress())
