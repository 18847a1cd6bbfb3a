"""Gold tables whose columns and rows this process replaces are as after Spark's overwrite."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from dataclasses import replace
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from deltalake import DeltaTable
from pyspark.sql import DataFrame, SparkSession, functions as sf, types as st

from pipeline.gold.local import overwrite
from pipeline.gold.local.overwrite import HeldRows, overwrite_without_spark
from pipeline.gold.table.gold_table import Write
from pipeline.gold.table.table_metadata import create_table
from pipeline.lake import delta
from pipeline.lake.delta_log.spark_types import local_frame
from pipeline.lake.delta_step import Step
from pipeline.lake.sql_text import in_sql
from pipeline.settings.settings import MIB

BEFORE = (
    st.StructType()
    .add("id", st.IntegerType())
    .add("code", st.StringType())
    .add("price", st.DoubleType())
    .add("at", st.TimestampNTZType())
    .add("__lsn", st.LongType())
)
AFTER = (
    st.StructType()
    .add("price", st.DecimalType(10, 2))
    .add("id", st.LongType())
    .add("note", st.StringType())
    .add("__lsn", st.LongType())
)
PROPERTIES = {"delta.enableDeletionVectors": "true", "delta.feature.timestampNtz": "supported"}
ROWS = [(1, "a", 1.5, None, 7), (2, None, -0.25, None, 8), (3, "", None, None, 9)]
CONVERTED = [(Decimal("1.50"), 1, "é", 7), (Decimal("-0.25"), 2, "é", 8), (None, 3, "é", 9)]


def converted(rows: DataFrame) -> DataFrame:
    price = sf.col("price").cast("decimal(10, 2)").alias("price")
    note = sf.lit("é").alias("note")
    return rows.select(price, sf.col("id").cast("bigint").alias("id"), note, "__lsn")


@pytest.fixture(scope="module")
def made(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> str:
    """Return a table that is clustered by `code`, with its rows in two files."""
    made = str(tmp_path_factory.mktemp("made") / "t")
    create_table(spark, made, BEFORE, ["code"], PROPERTIES)
    for version, rows in ((1, ROWS[:1]), (2, ROWS[1:])):
        stored = spark.createDataFrame(rows, BEFORE).coalesce(1)
        delta.append_once(stored, made, Step("test", version))
    return made


@pytest.fixture
def table(made: str, tmp_path: Path) -> str:
    """A copy of the table, which a test may change."""
    return str(shutil.copytree(made, tmp_path / "t"))


@pytest.fixture
def held(spark: SparkSession, table: str) -> HeldRows:
    """The table's rows, converted as local rows of Spark."""
    return HeldRows(table, 2, lambda rows: converted(local_frame(spark, rows)).toArrow())


def replaced(
    table: str, held: HeldRows | None, schema: st.StructType = AFTER, *clustering: str
) -> bool:
    write = Write(table, Step("replace", 1))
    return overwrite_without_spark(write, schema, clustering, held)


def checksum(table: str) -> dict[str, Any]:
    """Return the checksum of the last version, as far as it has the table itself."""
    last = max(Path(table, "_delta_log").glob("*.crc"))
    found = json.loads(last.read_bytes())
    found["metadata"]["schemaString"] = json.loads(found["metadata"]["schemaString"])
    names = ("metadata", "protocol", "domainMetadata", "numFiles", "numMetadata", "numProtocol")
    return {name: found[name] for name in names}


def test_rows_and_columns_are_those_of_sparks_overwrite(
    spark: SparkSession, table: str, held: HeldRows, tmp_path: Path
) -> None:
    theirs = str(shutil.copytree(table, tmp_path / "theirs"))
    for _ in range(2):  # a step is done once
        assert replaced(table, held)
    assert DeltaTable(table).version() == 3
    before = delta.read(spark, theirs).coalesce(1)
    delta.overwrite_once(converted(before), theirs, Step("replace", 1))
    for one in (table, theirs):
        found = delta.read(spark, one)
        assert found.schema == AFTER
        assert [tuple(row) for row in found.orderBy("id").collect()] == CONVERTED
    assert checksum(table) == checksum(theirs)
    assert [
        tuple(row) for row in delta.read(spark, table, version=2).orderBy("id").collect()
    ] == ROWS


def test_a_table_is_clustered_by_the_columns_that_it_has_now(
    spark: SparkSession, table: str, held: HeldRows
) -> None:
    assert replaced(table, held, AFTER, "id")
    assert delta.described(spark, table)["clusteringColumns"] == ["id"]
    delta.append_once(spark.createDataFrame(CONVERTED[:1], AFTER), table, Step("test", 3))
    spark.sql(f"DELETE FROM {in_sql(table)} WHERE id = 2")
    assert delta.read(spark, table).count() == 3


def test_a_table_that_is_created_again_is_empty(spark: SparkSession, table: str) -> None:
    assert replaced(table, None, AFTER, "id")
    found = delta.read(spark, table)
    assert (found.schema, found.count()) == (AFTER, 0)


def test_a_table_gets_the_rows_of_another(spark: SparkSession, table: str, tmp_path: Path) -> None:
    other = str(tmp_path / "other")
    create_table(spark, other, AFTER, ["id"], PROPERTIES)
    assert replaced(other, HeldRows(table, 1, lambda rows: rows), BEFORE, "code")
    assert [tuple(row) for row in delta.read(spark, other).collect()] == ROWS[:1]


def keep_many_rows(_: SparkSession, __: str, patch: pytest.MonkeyPatch) -> None:
    patch.setattr(overwrite, "_MOST_ROWS", 2)


def map_columns(spark: SparkSession, table: str, _: pytest.MonkeyPatch) -> None:
    alter = f"ALTER TABLE {in_sql(table)} SET TBLPROPERTIES"
    spark.sql(f"{alter} ('delta.columnMapping.mode' = 'name')")


def mark_rows_deleted(spark: SparkSession, table: str, _: pytest.MonkeyPatch) -> None:
    spark.sql(f"DELETE FROM {in_sql(table)} WHERE id = 2")


def name_columns_with_statistics(spark: SparkSession, table: str, _: pytest.MonkeyPatch) -> None:
    alter = f"ALTER TABLE {in_sql(table)} SET TBLPROPERTIES"
    spark.sql(f"{alter} ('delta.dataSkippingStatsColumns' = 'code')")


@pytest.mark.parametrize(
    "make", [keep_many_rows, map_columns, mark_rows_deleted, name_columns_with_statistics]
)
def test_what_is_unusual_is_left_to_spark(
    spark: SparkSession,
    table: str,
    held: HeldRows,
    monkeypatch: pytest.MonkeyPatch,
    make: Callable[[SparkSession, str, pytest.MonkeyPatch], None],
) -> None:
    make(spark, table, monkeypatch)
    before = DeltaTable(table).version()
    assert not replaced(table, held)
    assert DeltaTable(table).version() == before


def test_rows_without_the_new_columns_or_their_types_are_left_to_spark(table: str) -> None:
    assert not replaced(table, HeldRows(table, 2, lambda rows: rows))
    wrong = HeldRows(
        table, 2, lambda rows: pa.table({name: ["x"] * len(rows) for name in AFTER.names})
    )
    assert not replaced(table, wrong)


def test_times_that_python_does_not_have_are_left_to_spark(spark: SparkSession, table: str) -> None:
    after_9999 = "timestamp_ntz'9999-12-31 23:59:59' + interval 1 second"
    late = f"SELECT 4, 'd', 0D, {after_9999}, 10L"
    delta.append_once(spark.sql(late).toDF(*BEFORE.names), table, Step("test", 3))
    assert not replaced(table, HeldRows(table, 3, lambda rows: rows), BEFORE)
    assert DeltaTable(table).version() == 3


@pytest.mark.parametrize(("size", "done"), [(5 * MIB, True), (6 * MIB, False)])
def test_long_new_values_of_all_rows_are_left_to_spark(
    table: str, held: HeldRows, size: int, done: bool
) -> None:
    assert replaced(table, replace(held, added=size)) == done
