"""Gold tables emptied, filled and loaded by this process are as after Spark's statements."""

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

from pipeline.gold.local.seed import load_without_spark
from pipeline.gold.local.table import (
    LeftToSparkError,
    empty_without_spark,
    fill_without_spark,
    small_table,
)
from pipeline.gold.schema.alter_table import typed
from pipeline.gold.table.gold_table import Write
from pipeline.gold.table.names import COMMITTED_AT, LSN
from pipeline.gold.table.table_metadata import create_table
from pipeline.lake import delta
from pipeline.lake.delta_log.delta_rs import plain
from pipeline.lake.delta_log.spark_types import spark_schema
from pipeline.lake.delta_step import Step
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
        delta.append_once(rows_of(spark, numbers), made, Step("test", version))
    return made


@pytest.fixture
def table(made: str, tmp_path: Path) -> str:
    """A copy of the table, which a test may change."""
    return str(shutil.copytree(made, tmp_path / "t"))


def test_columns_are_filled_as_by_an_update(spark: SparkSession, table: str) -> None:
    texts = {f"c{n}": text for n, (_, text, _) in enumerate(TEXTS)}
    for _ in range(2):  # a step is done once
        assert fill_without_spark(NEVER_STARTED, Write(table, Step("fill", 1)), FIELDS, texts)
    assert DeltaTable(table).version() == 3
    filled = {tuple(row) for row in delta.read(spark, table).collect()}
    kinds = [kind for kind, _, _ in TEXTS]
    named = zip(texts.items(), kinds, strict=True)
    values = (f"{quoted(name)} = {typed(text, kind)}" for (name, text), kind in named)
    spark.sql(f"UPDATE {in_sql(table)} SET {', '.join(values)}")
    assert {tuple(row) for row in delta.read(spark, table).collect()} == filled
    (row,) = [row for row in filled if row[0] == 1]
    assert [*row[1:7], *row[9:]] == [value for _, _, value in TEXTS[:6] + TEXTS[8:]]


def test_long_defaults_of_many_rows_are_left_to_spark(
    table: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("pipeline.gold.local.table._DECODED_BYTES", 8 * 1024)
    write, name = Write(table, Step("fill", 1)), f"c{len(TEXTS) - 2}"
    assert not fill_without_spark(NEVER_STARTED, write, FIELDS, {name: "é" * 513})
    assert fill_without_spark(NEVER_STARTED, write, FIELDS, {name: "é" * 512})


def test_a_table_is_emptied_as_by_a_delete(spark: SparkSession, table: str) -> None:
    for _ in range(2):
        assert empty_without_spark(NEVER_STARTED, Write(table, Step("empty", 1)))
    assert DeltaTable(table).version() == 3
    assert read_table(table)[1].num_rows == 0
    assert read_table(table, version=2)[1].num_rows == 8
    delta.append_once(rows_of(spark, [9]), table, Step("test", 3))
    assert [row["id"] for row in delta.read(spark, table).collect()] == [9]


def test_deletion_vectors_are_left_to_spark(spark: SparkSession, table: str) -> None:
    spark.sql(f"DELETE FROM {in_sql(table)} WHERE id = 5")
    assert not empty_without_spark(NEVER_STARTED, Write(table, Step("empty", 1)))
    assert not fill_without_spark(NEVER_STARTED, Write(table, Step("fill", 1)), FIELDS, {"c0": "1"})
    assert DeltaTable(table).version() == 3


def test_structs_with_other_names_in_files_are_left_to_spark(
    spark: SparkSession, table: str
) -> None:
    alter = f"ALTER TABLE {in_sql(table)}"
    spark.sql(f"{alter} SET TBLPROPERTIES ('delta.columnMapping.mode' = 'name')")
    spark.sql(f"{alter} ADD COLUMNS (place struct<srid: int, wkb: binary>)")
    opened = DeltaTable(table)
    columns = spark_schema(plain(opened.schema())).fields
    with pytest.raises(LeftToSparkError, match="other table features"):
        small_table(opened, table, columns, {})


OWN = [st.StructField(LSN, st.LongType()), st.StructField(COMMITTED_AT, st.TimestampType())]


@pytest.fixture
def seeded(spark: SparkSession, tmp_path: Path) -> tuple[str, list[str]]:
    """Return an empty gold table, and the folders of a seed's two rows, one without values."""
    table, folder = str(tmp_path / "gold"), str(tmp_path / "_seeds" / "rows")
    create_table(spark, table, st.StructType([*FIELDS, *OWN]), ["id"], PROPERTIES)
    values = [0.1 if isinstance(kind, st.FloatType) else value for kind, _, value in TEXTS]
    rows = spark.createDataFrame([(1, *values), (2, *[None] * len(TEXTS))], st.StructType(FIELDS))
    rows.toDF(*(f"c{n}" for n in range(len(FIELDS)))).write.parquet(folder)
    return table, [folder]


def test_a_small_seed_is_loaded_without_spark(
    spark: SparkSession, seeded: tuple[str, list[str]]
) -> None:
    table, folders = seeded
    for app in ("test", "again"):  # the second replaces the rows of the first
        done = load_without_spark(
            NEVER_STARTED, Write(table, Step(app, 1)), [*FIELDS, *OWN], folders, lsn=7, count=2
        )
        assert done
    expected = spark.read.parquet(*folders).orderBy("c0").collect()
    found = delta.read(spark, table).orderBy("id").collect()
    assert [tuple(row) for row in found] == [(*row, 7, None) for row in expected]


@pytest.mark.parametrize("limit", ["SMALL_BYTES", "_DECODED_BYTES", None])
def test_a_large_or_incomplete_seed_is_left_to_spark(
    seeded: tuple[str, list[str]], limit: str | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    table, folders = seeded
    if limit:
        module = "seed" if limit == "SMALL_BYTES" else "table"
        monkeypatch.setattr(f"pipeline.gold.local.{module}.{limit}", 50)
    count = 2 if limit else 3
    write, columns = Write(table, Step("test", 1)), [*FIELDS, *OWN]
    assert not load_without_spark(NEVER_STARTED, write, columns, folders, lsn=7, count=count)
    assert DeltaTable(table).version() == 0
