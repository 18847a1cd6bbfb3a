"""Figures by which a source table and its gold table are compared: row count and checksum.

The checksum is the sum of the CRC32s of each row as text. MySQL's and Spark's SQL expressions for
the text are chosen so that equal values have equal texts.
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
    """A column's value as text, as an SQL expression of each dialect."""

    mysql: str
    spark: str

    @classmethod
    def same(cls, name: str) -> Column:
        """Return the expressions for integers, decimals, dates and text."""
        return cls(name, f"CAST({name} AS STRING)")

    @classmethod
    def instant(cls, name: str) -> Column:
        """Return those for DATETIME(6) and TIMESTAMP(6): Spark's cast drops trailing zeros."""
        return cls(name, f"date_format({name}, 'yyyy-MM-dd HH:mm:ss.SSSSSS')")

    @classmethod
    def member(cls, name: str, path: str) -> Column:
        """Return those for one member of a JSON document, whose whole text may differ."""
        return cls(
            f"JSON_UNQUOTE(JSON_EXTRACT({name}, '{path}'))", f"get_json_object({name}, '{path}')"
        )


Tables = Mapping[str, tuple[Column, ...]]
"""The checked columns of each table of a schema."""


def mysql_query(schema: str, table: str, columns: tuple[Column, ...]) -> str:
    """Return the query for the figures of a source table."""
    texts = ", ".join(f"COALESCE({column.mysql}, '-')" for column in columns)
    checksum = f"SUM(CRC32(CONCAT_WS('|', {texts})))"
    return f"SELECT COUNT(*), COALESCE({checksum}, 0) FROM {schema}.{table}"


def gold_figures(
    spark: SparkSession, lake: Lake, schema: str, tables: Tables
) -> dict[str, list[int]]:
    """Return the figures by gold table, without missing tables."""
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
