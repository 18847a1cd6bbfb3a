"""Range checks by statistics never exclude rows that Spark finds."""

from __future__ import annotations

import json
from datetime import date
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from deltalake import DeltaTable, write_deltalake
from pyspark.sql import SparkSession, functions as sf

from pipeline.lake import delta
from pipeline.lake.delta_log.spark_written import has_none_within
from pipeline.lake.delta_log.table_log import may_have_rows
from pipeline.lake.sql_text import in_sql, quoted
from tests.support.spark.no_spark import NO_SPARK

LONG = "ü" * 40
"""Longer than a statistic, which has the first 32 characters."""
CREATE = """CREATE TABLE {table} (`a b` INT, big DECIMAL(20,0), d DECIMAL(9,2), day DATE, s STRING,
    {others}, late INT) USING delta TBLPROPERTIES ('delta.columnMapping.mode' = 'name',
    'delta.enableDeletionVectors' = 'true')"""
OTHERS = [f"c{n} INT" for n in range(30)]
"""So many columns that `late` has no statistics: Delta keeps those of the first 32 columns."""
FILES = [
    ((1, "1", "-1.50", "2024-02-29", "a"), (9, "5", "0.25", "2024-03-01", LONG + "m")),
    ((20, "18446744073709551615", "9.99", "9999-12-31", "z"),),
    ((30, "1", "0.25", "1990-01-01", "\U00020bb7x"),),
]

RANGES: list[tuple[dict[str, tuple[Any, Any]], bool]] = [
    ({}, True),
    ({"c`d": (2, 3)}, True),  # between two rows of a file
    ({"c`d": (9, 9)}, True),  # a row that was deleted
    ({"c`d": (10, 19)}, False),
    ({"c`d": (-5, 0)}, False),
    ({"c`d": (31, (1 << 31) - 1)}, False),
    ({"c`d": (0, 100)}, True),
    ({"c`d": (1, 1), "s": ("b", "c")}, True),
    ({"c`d": (1, 1), "day": (date(2025, 1, 1), date(2026, 1, 1))}, False),
    ({"c`d": (20, 20), "day": (date(2024, 2, 29), date(2024, 2, 29))}, False),
    ({"big": (Decimal(6), Decimal(18446744073709551614))}, False),
    ({"big": (Decimal(18446744073709551615), Decimal(18446744073709551615))}, True),
    ({"d": (Decimal("-1.50"), Decimal("-1.50"))}, True),
    ({"d": (Decimal("0.26"), Decimal("9.98"))}, False),
    ({"day": (date(9999, 12, 31), date(9999, 12, 31))}, True),
    ({"day": (date(1990, 1, 2), date(2024, 2, 28))}, False),
    ({"s": (LONG + "z", LONG + "zz")}, True),  # the statistic is shorter than both
    ({"s": ("A", "Z")}, False),
    # Delta appends a character to a truncated maximum, which may have been read wrongly.
    ({"s": ("ÿ", "ÿ")}, True),
    ({"s": ("ÿ", "ÿ"), "c`d": (20, 30)}, False),
    ({"s": ("\U00020bb7x", "\U00020bb7x")}, True),
    ({"s": ("ü", "\U0001f600")}, True),
    ({"late": (1, 2)}, True),
    ({"late": (1, 2), "c`d": (10, 19)}, False),
]
"""Ranges of columns, and whether the statistics leave it open that rows are in them."""


@pytest.fixture(scope="module")
def table(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> str:
    """Three files, with a renamed column and a row removed by a deletion vector."""
    path = str(tmp_path_factory.mktemp("ranges") / "t")
    spark.sql(CREATE.format(table=in_sql(path), others=", ".join(OTHERS)))
    spark.sql(f"ALTER TABLE {in_sql(path)} RENAME COLUMN `a b` TO `c``d`")
    schema = delta.read(spark, path).schema
    for rows in FILES:
        texts = [(*map(str, row), *("0" for _ in OTHERS), "7") for row in rows]
        frame = spark.createDataFrame(texts, schema.names)
        typed = [sf.col(quoted(f.name)).cast(f.dataType).alias(f.name) for f in schema]
        delta.append(frame.select(*typed).coalesce(1), path)
    spark.sql(f"DELETE FROM {in_sql(path)} WHERE `c``d` = 9")
    return path


def test_rows_may_be_in_ranges_that_statistics_do_not_exclude(
    spark: SparkSession, table: str
) -> None:
    rows = delta.read(spark, table)
    excluded = sf.lit(False)
    for ranges, may in RANGES:
        assert may_have_rows(DeltaTable(table), ranges) is may, ranges
        assert has_none_within(NO_SPARK, table, ranges) is not may, ranges
        within = sf.lit(not may)
        for name, (low, high) in ranges.items():
            limits = (sf.lit(limit).cast(rows.schema[name].dataType) for limit in (low, high))
            within &= sf.col(quoted(name)).between(*limits)
        excluded |= within
    assert rows.where(excluded).collect() == []


def test_a_table_without_files_has_none(tmp_path: Path) -> None:
    table = str(tmp_path / "empty")
    DeltaTable.create(table, pa.schema({"id": pa.int32()}))
    assert has_none_within(NO_SPARK, table, {})
    assert has_none_within(NO_SPARK, table, {"id": (1, 2)})


def test_ranges_are_unknown_if_only_spark_can_read_the_log(
    table: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("pipeline.lake.delta_log.spark_written.has_log", lambda *_: False)
    assert has_none_within(NO_SPARK, table, {"c`d": (10, 19)}) is None


ESCAPED = r"\ud842\udfb7x"
"""A character beyond U+FFFF as some JSON writers escape it: delta-rs reads it as another one."""


@pytest.mark.parametrize("text", [ESCAPED, "\U00020bb7x"], ids=["escaped", "as it is"])
def test_a_text_that_a_writer_escaped_is_not_taken_for_a_lower_one(
    tmp_path: Path, text: str
) -> None:
    table = tmp_path / "t"
    write_deltalake(table, pa.table({"s": ["k"]}))
    commit = table / "_delta_log" / f"{0:020}.json"
    lines = [json.loads(line) for line in commit.read_text().splitlines()]
    (added,) = (line["add"] for line in lines if "add" in line)
    assert added["stats"].count('"k"') == 2
    added["stats"] = added["stats"].replace('"k"', f'"{text}"')
    commit.write_text("\n".join(map(json.dumps, lines)))
    assert may_have_rows(DeltaTable(table), {"s": ("\U00020bb7x", "\U00020bb7x")})
