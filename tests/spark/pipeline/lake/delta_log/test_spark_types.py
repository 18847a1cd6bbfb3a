"""Rows of this process as a DataFrame, whatever chunks they are in."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

import pyarrow as pa
import pytest
from pyspark.sql import SparkSession

from pipeline.lake.delta_log.spark_types import local_frame

SCHEMA = pa.schema([pa.field("id", pa.int64(), nullable=False), ("at", pa.timestamp("us"))])
AT = datetime(2026, 3, 29, 2, 30)
"""An hour that time zones skip."""


@pytest.mark.parametrize(
    "chunks",
    [[], [()], [(1, 2, 3)], [(1,), (), (2, 3)], [(), (1,)], [(1,), ()]],
    ids=["no chunk", "no row", "one", "an empty one between", "an empty one first", "and last"],
)
def test_all_rows_reach_spark(spark: SparkSession, chunks: Sequence[Sequence[int]]) -> None:
    parts = [
        pa.table({"id": ids, "at": [AT] * len(ids)}, SCHEMA).to_batches(1)
        or [pa.record_batch([[], []], schema=SCHEMA)]
        for ids in chunks
    ]
    rows = pa.Table.from_batches([batch for part in parts for batch in part], SCHEMA)
    found = local_frame(spark, rows)
    assert sorted(found.collect()) == [(one, AT) for ids in chunks for one in ids]
    assert found.schema.simpleString() == "struct<id:bigint,at:timestamp_ntz>"
    assert not found.schema["id"].nullable
