"""Figures of a table that the source server and gold must agree on: a count and checksums.

Each checksum is the sum of the CRC32s of a text of every row, spelled once in MySQL's SQL and once
in Spark's so that equal values give equal text.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pyspark.sql import SparkSession

from pipeline.lake import Lake


@dataclass(frozen=True, slots=True)
class Column:
    """How one column's value is spelled as text, in both dialects."""

    mysql: str
    spark: str

    @classmethod
    def same(cls, name: str) -> Column:
        """For integers, decimals, dates and text."""
        return cls(name, f"CAST({name} AS STRING)")

    @classmethod
    def instant(cls, name: str) -> Column:
        """For DATETIME(6) and TIMESTAMP(6), which Spark prints without trailing zeros."""
        return cls(name, f"date_format({name}, 'yyyy-MM-dd HH:mm:ss.SSSSSS')")

    @classmethod
    def member(cls, name: str, path: str) -> Column:
        """For one member of a JSON document, which need not be spelled alike as a whole."""
        return cls(
            f"JSON_UNQUOTE(JSON_EXTRACT({name}, '{path}'))", f"get_json_object({name}, '{path}')"
        )


Tables = Mapping[str, tuple[Column, ...]]
"""The checked columns of each table of a schema."""


def mysql_query(schema: str, table: str, columns: tuple[Column, ...]) -> str:
    """The figures of a source table."""
    texts = ", ".join(f"COALESCE({column.mysql}, '-')" for column in columns)
    checksum = f"SUM(CRC32(CONCAT_WS('|', {texts})))"
    return f"SELECT COUNT(*), COALESCE({checksum}, 0) FROM {schema}.{table}"


def gold_figures(
    spark: SparkSession, lake: Lake, schema: str, tables: Tables
) -> dict[str, list[int]]:
    """The figures of every gold table; a table that is not there has none."""
    return {
        table: _gold(spark, lake.gold(schema, table), columns)
        for table, columns in tables.items()
        if Path(lake.gold(schema, table)).exists()
    }


def _gold(spark: SparkSession, path: str, columns: tuple[Column, ...]) -> list[int]:
    texts = ", ".join(f"COALESCE({column.spark}, '-')" for column in columns)
    checksum = f"COALESCE(SUM(crc32(CAST(concat_ws('|', {texts}) AS BINARY))), 0)"
    gold = spark.read.format("delta").load(path)
    row: tuple[Any, ...] = gold.selectExpr("COUNT(*)", checksum).collect()[0]
    return [int(figure) for figure in row]
