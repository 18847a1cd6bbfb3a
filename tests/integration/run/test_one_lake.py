"""Sources that share a lake are kept apart, and settings have to match the lake's tables."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from pipeline.bronze import job as bronze
from pipeline.errors import SettingsError
from pipeline.lake import Lake, delta
from pipeline.observe import LayerReport
from pipeline.observe.progress import QuietProgress
from pipeline.settings import Settings
from pipeline.silver import job as silver

DEMO = Path(__file__).parents[3] / "demo" / "binlogs"


@pytest.fixture(scope="module")
def root(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> str:
    """Return a lake with one file of the demo's log, decoded for the source `shop`."""
    folder = str(tmp_path_factory.mktemp("one") / "lake")
    assert decode(spark, folder, "shop").clean
    return folder


def decode(spark: SparkSession, lake: str, source: str, **options: Any) -> LayerReport:
    binlogs = str(DEMO / "binlog.000001")
    settings = Settings.load(None, source=source, binlogs=binlogs, lake=lake, **options)
    bronze.run(spark, settings, QuietProgress())
    return silver.run(spark, settings, QuietProgress())


def test_a_table_of_another_source_is_refused_before_anything_is_written(
    spark: SparkSession, root: str
) -> None:
    orders = delta.read(spark, Lake(root).changes("shop", "orders", 1)).count()
    with pytest.raises(SettingsError, match="already in this lake, from source shop") as refused:
        decode(spark, root, "other")
    assert "exclude" in str(refused.value)
    assert delta.read(spark, Lake(root).changes("shop", "orders", 1)).count() == orders
    assert decode(spark, root, "shop").clean
    assert decode(spark, root, "other", exclude=["shop.*"]).clean


def test_type_settings_cannot_change_under_existing_tables(spark: SparkSession, root: str) -> None:
    with pytest.raises(SettingsError, match="were created with text") as refused:
        decode(spark, root, "shop", types={"time": "micros"})
    assert "types.time" in str(refused.value)
