"""DataFrames of binary logs, compared with silver's tables of the same files.

Nothing is registered by hand: Spark finds the format on the path of its Python.
"""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from functools import reduce
from pathlib import Path

import pyarrow as pa
import pytest
from chispa import assert_df_equality
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession, functions as sf

from decoder import TypeOptions
from pipeline.bronze import job as bronze
from pipeline.lake import Lake, delta
from pipeline.observe.progress import QuietProgress
from pipeline.settings import Settings
from pipeline.silver import job as silver
from tests.support.bronze.bronze_input import FILES
from tests.support.decoder.event_bytes import DATA
from tests.support.spark.no_spark import NEVER_STARTED

BINLOGS = str(FILES[0].parent)
TABLES = {"shop.orders": 2, "shop.products": 1}
"""How many definitions each has in the log."""
PLACE = ("__lsn", "__pos", "__row")


@pytest.fixture(scope="module")
def lake(tmp_path_factory: pytest.TempPathFactory) -> Lake:
    """Return a lake with silver of the same files."""
    root = str(tmp_path_factory.mktemp("lake"))
    settings = Settings.load(None, source="shop", binlogs=BINLOGS, lake=root)
    bronze.run(NEVER_STARTED, settings, QuietProgress())
    silver.run(NEVER_STARTED, settings, QuietProgress())
    return Lake(root)


def read(spark: SparkSession, path: str = BINLOGS, **options: object) -> DataFrame:
    return spark.read.format("binlog").options(**options).load(path)


def flat(changes: DataFrame, columns: Sequence[str]) -> DataFrame:
    """Return the changes with a column for each of the images', null for those that they lack."""
    cells = [
        (sf.col(image)[name] if name in changes.schema[image].dataType.names else sf.lit(None))
        .cast("string")
        .alias(f"{image}_{name}")
        for image in ("before", "after")
        for name in columns
    ]
    header = [name for name in changes.columns if name.startswith("__")]
    return changes.select(*header, *cells)


@pytest.mark.parametrize("table", TABLES)
def test_rows_are_silvers(spark: SparkSession, lake: Lake, table: str) -> None:
    changes = read(spark, table=table)
    columns = changes.schema["after"].dataType.names
    versions = [
        flat(delta.read(spark, lake.changes(*table.split("."), version)), columns)
        for version in range(1, TABLES[table] + 1)
    ]
    expected = reduce(DataFrame.unionByName, versions)
    assert_df_equality(
        flat(changes, columns).orderBy(*PLACE), expected.orderBy(*PLACE), ignore_nullable=True
    )
