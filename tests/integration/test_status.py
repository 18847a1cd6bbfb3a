"""What `binlake status` says of tables that wait, on silver made by hand."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from pipeline.gold.job import run
from pipeline.progress import QuietProgress
from pipeline.settings import Settings
from pipeline.status import Status, read_status
from tests.support.made_silver import (
    SOURCE,
    MadeSilver,
    MadeTransaction as Tx,
    definition,
    item,
)

T, KEYLESS = definition("t"), definition("keyless", key=())


class StatusLake:
    """A lake with silver made by hand, its gold, and its status."""

    def __init__(self, spark: SparkSession, folder: Path) -> None:
        self.spark = spark
        self.root = str(folder)
        self.silver = MadeSilver(spark, self.root)

    def status(self, **options: Any) -> Status:
        settings = Settings(source=SOURCE, lake=self.root, **options)
        run(self.spark, settings, QuietProgress())
        return read_status(self.spark, settings)


@pytest.fixture
def lake(spark: SparkSession, tmp_path: Path) -> StatusLake:
    return StatusLake(spark, tmp_path / "lake")


def test_a_fault_of_unknown_tables_holds_every_table(lake: StatusLake) -> None:
    lake.silver.batch(
        [Tx(1).insert(T, 1, "a"), Tx(3).insert(T, 3, "c")], [item("create", 1, T)], [(2, None)]
    )
    (table,) = lake.status().tables
    assert (table.held, table.faults, table.complete) == (True, 1, True)
    assert "it is damaged" in (table.reason or "")
