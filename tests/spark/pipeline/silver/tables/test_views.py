"""The view of a table's changes across all its definitions."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pyarrow as pa
import pytest
from pyspark.sql import SparkSession

from decoder.model import schemas
from pipeline.lake import Lake, delta
from pipeline.lake.delta_log.spark_types import spark_schema
from pipeline.lake.delta_step import Step
from pipeline.schema_history import TableName
from pipeline.silver.tables.views import write_views


@pytest.fixture
def lake(spark: SparkSession) -> Iterator[Lake]:
    yield Lake("", "`spark_catalog`.`views_test`")
    spark.sql("DROP DATABASE IF EXISTS views_test CASCADE")


def write(
    spark: SparkSession, lake: Lake, version: int, **columns: tuple[pa.DataType, Any]
) -> None:
    row = pa.struct({name: kind for name, (kind, _) in columns.items()})
    schema = schemas.changes(row)
    after = {name: value for name, (_, value) in columns.items()}
    change = {"__op": "insert", "__lsn": version, "__pos": 1, "__row": 0, "__file": "f"}
    rows = pa.Table.from_pylist([{**change, "before": None, "after": after}], schema=schema)
    frame = spark.createDataFrame(rows, spark_schema(schema))
    place = lake.changes("shop", "my orders", version)
    options = {"delta.columnMapping.mode": "name"}
    delta.append_once(frame, place, Step("a", version), options=options)


def test_a_view_has_the_changes_under_every_definition(spark: SparkSession, lake: Lake) -> None:
    name = TableName("shop", "my orders")
    write(spark, lake, 1, id=(pa.int32(), 1), old=(pa.binary(), b"\x01\xff"))
    assert write_views(spark, lake, [(name, 1)]) == []
    view = lake.all_changes("shop", "my orders")
    assert view is not None
    assert [row["__version"] for row in spark.table(view).collect()] == [1]
    write(spark, lake, 3, id=(pa.int64(), 1 << 40), **{"a b": (pa.string(), "x")})
    assert write_views(spark, lake, [(name, 3), (name, 1)]) == []
    assert write_views(spark, lake, [(name, 3)]) == []
    seen = spark.table(view).orderBy("__lsn").select("__version", "before", "after.*")
    assert seen.columns == ["__version", "before", "id", "a b", "old"]
    assert [tuple(row) for row in seen.collect()] == [
        (1, None, 1, None, b"\x01\xff"),
        (3, None, 1 << 40, "x", None),
    ]


def test_a_view_that_cannot_be_created_is_reported(spark: SparkSession, lake: Lake) -> None:
    name = TableName("shop", "my orders")
    write(spark, lake, 1, id=(pa.int32(), 1))
    spark.sql(f"CREATE TABLE {lake.all_changes('shop', 'my orders')} (n INT) USING delta")
    (message,) = write_views(spark, lake, [(name, 1)])
    assert message.startswith(
        "shop.my orders: the view of its changes could not be created: [EXPECT_"
    )


def test_a_view_that_lacks_a_definition_gets_it_with_the_next(
    spark: SparkSession, lake: Lake
) -> None:
    name = TableName("shop", "my orders")
    write(spark, lake, 1, Name=(pa.string(), "a"))
    write(spark, lake, 3, name=(pa.string(), "b"))
    assert write_views(spark, lake, [(name, 3)]) == []
    view = lake.all_changes("shop", "my orders")
    assert view is not None
    seen = spark.table(view).orderBy("__lsn").select("__version", "after.name")
    assert [tuple(row) for row in seen.collect()] == [(1, "a"), (3, "b")]
