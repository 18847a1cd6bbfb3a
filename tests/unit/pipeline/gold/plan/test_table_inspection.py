"""Inspection of gold's tables before a batch: Spark is used if the log's files cannot be read."""

from __future__ import annotations

from typing import cast

import pytest
from pyspark.sql import SparkSession

from pipeline.gold.plan import table_inspection
from pipeline.gold.plan.table_inspection import _look
from pipeline.gold.table.damage import Damage
from pipeline.lake import stores

NO_SPARK = cast(SparkSession, type("Local", (), {"_jsparkSession": None})())


def test_a_store_that_this_process_cannot_read_is_read_by_spark(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def refuses(path: str) -> bool:
        raise PermissionError("access denied")

    monkeypatch.setattr(stores, "exists", refuses)
    monkeypatch.setattr(table_inspection, "state_of", lambda spark, table: None)
    found = _look(NO_SPARK, "s3://bucket/lake/gold/shop/orders", "an-id", 3)
    assert isinstance(found, Damage)
