"""Few changes collected at the driver: they stay unchanged, and their size is counted."""

from __future__ import annotations

from datetime import datetime, timezone
from decimal import Decimal

from chispa import assert_df_equality
from pyspark.sql import SparkSession, functions as sf

from pipeline.gold.changes.small_batch import (
    HELD_BYTES,
    ON_SMALL_TABLES,
    VALUE_BYTES,
    at_driver,
    bytes_of,
    fit,
    local,
)
from pipeline.lake.child_sessions import FEW

EVERY_TYPE = (
    "__op string, __lsn bigint, __absent_after array<string>, __json_diff map<string, string>,"
    " after struct<t: tinyint, i: int, u: decimal(20,0), d: decimal(38,30), f: float, g: double,"
    " s: string, b: binary, a: array<string>, `of ``day`: timestamp_ntz, at: timestamp, day: date,"
    " yes: boolean>"
)
AT = datetime(9999, 12, 31, 23, 59, 59, 999_999)
ROW = (
    *(-128, -(2**31), Decimal(2**64 - 1), Decimal("-9.999999999999999999999999999999"), 1.5),
    *(-0.0, "ä\x00€", b"\x00\xff", ["a", ""], AT, datetime(1970, 1, 1, tzinfo=timezone.utc)),
    *(AT.date(), True),
)


def test_more_changes_than_counted_are_not_collected(spark: SparkSession) -> None:
    changes = spark.range(3)
    assert at_driver(changes, 2) is None
    rows = at_driver(changes, 3)
    assert rows is not None
    assert rows.num_rows == 3


def test_values_are_unchanged_at_the_driver(spark: SparkSession) -> None:
    rows = [
        ("insert", 1, None, None, ROW),
        ("update", 2, ["s", "of `day"], {"s": "[]"}, (*[None] * len(ROW),)),
        ("delete", 3, [], {}, None),
    ]
    changes = spark.createDataFrame(rows, EVERY_TYPE)
    session = spark.newSession()
    for name, value in ON_SMALL_TABLES.items():
        session.conf.set(name, value)
    rows_there = at_driver(changes, 3)
    assert rows_there is not None
    there = local(session, spark, rows_there, changes.schema)
    assert_df_equality(there, changes)
    assert [str(row.after.g) for row in there.where("__lsn = 1").collect()] == ["-0.0"]
    assert there.sparkSession.conf.get("spark.sql.shuffle.partitions") == "1"
    assert SparkSession.getActiveSession() is spark


def test_sizes_of_collected_values_are_counted(spark: SparkSession) -> None:
    rows = [
        ("update", 1, None, {"s": "12345"}, ROW),  # 6 bytes of text, 2 binary, "a," and the diff
        ("delete", 2, None, None, None),
    ]
    changes = spark.createDataFrame(rows, EVERY_TYPE).withColumn("before", sf.col("after"))
    found = [row[0] for row in changes.select(bytes_of(changes)).collect()]
    assert found == [5 + 2 * (6 + 2 + 2), 0]
    values = 2 * len(ROW) * VALUE_BYTES
    assert fit(changes, FEW, HELD_BYTES - FEW * values)
    assert not fit(changes, FEW, HELD_BYTES - FEW * values + 1)
    assert not fit(changes, FEW + 1, 0)
