"""Bronze's job on Spark's workers, which cannot read everything that the driver can."""

from __future__ import annotations

from pathlib import Path

import fsspec
import pytest
from pyspark.sql import SparkSession

from pipeline.errors import MissingRequirementError
from tests.support.bronze.bronze_input import FILES, Bronze


@pytest.fixture
def bronze(spark: SparkSession, tmp_path: Path) -> Bronze:
    return Bronze(spark, tmp_path)


def test_a_file_that_only_the_driver_can_read_is_an_error(bronze: Bronze) -> None:
    """The driver's memory file system simulates a path or credential that workers lack."""
    files = fsspec.filesystem("memory")
    files.pipe(f"/shop/{FILES[0].name}", FILES[0].read_bytes())
    changed = {"binlogs": "memory://shop", "engine": "spark"}
    bronze.settings = bronze.settings.model_copy(update=changed)
    try:
        with pytest.raises(MissingRequirementError, match="workers cannot read memory:///shop/bin"):
            bronze.run()
    finally:
        files.rm("/shop", recursive=True)
    assert bronze.rows() == {}
