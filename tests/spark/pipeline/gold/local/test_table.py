"""Gold tables emptied and filled by this process are as after Spark's DELETE and UPDATE."""

from __future__ import annotations

import shutil
from collections.abc import Iterable
from datetime import date, datetime, timezone
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from deltalake import DeltaTable
from pyspark.sql import DataFrame, SparkSession, types as st

from pipeline.gold.local.table import empty_without_spark, fill_without_spark
from pipeline.gold.schema.alter_table import typed
from pipeline.gold.table.gold_table import Write
from pipeline.gold.table.table_metadata import create_table
from pipeline.lake import delta
from pipeline.lake.sql_text import in_sql, quoted
from tests.support.lake.table_rows import read_table
from tests.support.spark.no_spark import NEVER_STARTED

TEXTS: list[tuple[st.DataType, str, Any]] = [
    (st.ByteType(), "-7", -7),
    (st.DecimalType(20, 0), "18446744073709551615", Decimal(2**64 - 1)),
    (st.FloatType(), "0.1", pytest.approx(0.1)),
    (st.BooleanType(), "true", True),
    (st.DecimalType(10, 2), "12.5", Decimal("12.50")),
    (st.DateType(), "2024-02-29", date(2024, 2, 29)),
    (st.TimestampNTZType(), "2024-02-29 12:00:00.5", datetime(2024, 2, 29, 12, 0, 0, 500_000)),
    (
        st.TimestampType(),
        "2024-02-29 12:00:00+00:00",
        datetime(2024, 2, 29, 12, tzinfo=timezone.utc),
    ),
    (st.StringType(), "it's", "it's"),
    (st.BinaryType(), "00ff", b"\x00\xff"),
]
FIELDS = [
    st.StructField("id", st.LongType()),
    *(st.StructField(f"c{n}", kind) for n, (kind, _, _) in enumerate(TEXTS)),
]
PROPERTIES = {"delta.enableDeletionVectors": "true", "delta.feature.timestampNtz": "supported"}


def rows_of(spark: SparkSession, numbers: Iterable[int]) -> DataFrame:
    rows = [(n, *[None] * len(TEXTS)) for n in numbers]
    return spark.createDataFrame(rows, st.StructType(FIELDS)).coalesce(1)


@pytest.fixture(scope="module")
def made(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> str:
    """Return a clustered table with two files, of the rows 1, and 2 to 8."""
    made = str(tmp_path_factory.mktemp("made") / "t")
    create_table(spark, made, st.StructType(FIELDS), ["id"], PROPERTIES)
    for version, numbers in ((1, [1]), (2, range(2, 9))):
        delta.append_once(rows_of(spark, numbers), made, app="test", version=version)
    return made


@pytest.fixture
def table(made: str, tmp_path: Path) -> str:
    """A copy of the table, which a test may change."""
    return str(shutil.copytree(made, tmp_path / "t"))


def test_columns_are_filled_as_by_an_update(spark: SparkSession, table: str) -> None:
    texts = {f"c{n}": text for n, (_, text, _) in enumerate(TEXTS)}
    for _ in range(2):  # a step is done once
        assert fill_without_spark(NEVER_STARTED, Write(table, "fill", 1), FIELDS, texts)
    assert DeltaTable(table).version() == 3
    filled = {tuple(row) for row in delta.read(spark, table).collect()}
    kinds = [kind for kind, _, _ in TEXTS]
    named = zip(texts.items(), kinds, strict=True)
    values = (f"{quoted(name)} = {typed(text, kind)}" for (name, text), kind in named)
    spark.sql(f"UPDATE {in_sql(table)} SET {', '.join(values)}")
    assert {tuple(row) for row in delta.read(spark, table).collect()} == filled
    (row,) = [row for row in filled if row[0] == 1]
    assert [*row[1:7], *row[9:]] == [value for _, _, value in TEXTS[:6] + TEXTS[8:]]


def test_a_table_is_emptied_as_by_a_delete(spark: SparkSession, table: str) -> None:
    for _ in range(2):
        assert empty_without_spark(NEVER_STARTED, Write(table, "empty", 1))
    assert DeltaTable(table).version() == 3
    assert read_table(table)[1].num_rows == 0
    assert read_table(table, version=2)[1].num_rows == 8
    delta.append_once(rows_of(spark, [9]), table, app="test", version=3)
    assert [row["id"] for row in delta.read(spark, table).collect()] == [9]


def test_deletion_vectors_are_left_to_spark(spark: SparkSession, table: str) -> None:
    spark.sql(f"DELETE FROM {in_sql(table)} WHERE id = 5")
    assert not empty_without_spark(NEVER_STARTED, Write(table, "empty", 1))
    assert not fill_without_spark(NEVER_STARTED, Write(table, "fill", 1), FIELDS, {"c0": "1"})
    assert DeltaTable(table).version() == 3
