"""Silver's quarantine as gold reads it: the faults that are open, and the tables they hold."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pyspark.sql import SparkSession

from pipeline.catalog.effects import TableName
from pipeline.gold.blocks import Fault
from pipeline.lake import Lake
from pipeline.silver.decode import OFFSET_BITS
from pipeline.silver.quarantine import GIVEN_UP, sentence, unresolved


def open_faults(spark: SparkSession, lake: Lake, source: str) -> list[Fault]:
    """What is in quarantine and was not taken up yet."""
    rows = unresolved(spark, lake, source)
    if rows is None:
        return []
    return [_fault(row.asDict()) for row in rows.drop("content").collect()]


def _fault(row: Mapping[str, Any]) -> Fault:
    """A fault outside any transaction stands where its event does."""
    lsn = row["__lsn"] if row["__lsn"] is not None else row["ordinal"] << OFFSET_BITS | row["__pos"]
    tables = row["tables"]
    named = None if tables is None else tuple(TableName.read(name) for name in tables)
    return Fault(lsn, sentence(row), named, given_up=row["kind"] == GIVEN_UP)
