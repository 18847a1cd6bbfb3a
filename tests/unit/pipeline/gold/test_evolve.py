"""Gold's schema from a definition, what Delta clusters by, and the values of DEFAULTs."""

from __future__ import annotations

from typing import Any

import pytest
from pyspark.sql import SparkSession, types as st

from decoder.constants import ColumnType
from decoder.definition import ColumnDefinition, TableDefinition
from decoder.options import TypeOptions
from pipeline.gold.evolve import clustering, gold_schema, typed


def test_gold_has_the_sources_columns_and_its_own() -> None:
    columns = (
        ColumnDefinition("id", ColumnType.LONGLONG, unsigned=True, nullable=False),
        ColumnDefinition("a.b", ColumnType.NEWDECIMAL, precision=40, scale=2),
        ColumnDefinition("where", ColumnType.GEOMETRY),
    )
    schema = gold_schema(TableDefinition("s", "t", columns, (0,)), TypeOptions())
    assert [(f.name, f.dataType.simpleString(), f.nullable) for f in schema] == [
        ("id", "decimal(20,0)", True),
        ("a.b", "string", True),
        ("where", "struct<srid:int,wkb:binary>", True),
        ("__lsn", "bigint", True),
        ("__committed_at", "timestamp", True),
    ]


def schema_of(*kinds: tuple[str, st.DataType]) -> st.StructType:
    return st.StructType([st.StructField(name, kind) for name, kind in kinds])


WIDE = schema_of(*((f"c{n}", st.LongType()) for n in range(40)))
CLUSTERED: dict[str, tuple[st.StructType, tuple[str, ...], list[str]]] = {
    "in the key's order": (
        schema_of(("b", st.LongType()), ("a", st.StringType())),
        ("a", "b"),
        ["`a`", "`b`"],
    ),
    "by no more than four": (
        WIDE,
        ("c1", "c2", "c3", "c4", "c5"),
        ["`c1`", "`c2`", "`c3`", "`c4`"],
    ),
    "not by bytes or truth": (
        schema_of(("a", st.BinaryType()), ("b", st.BooleanType()), ("c", st.DateType())),
        ("a", "b", "c"),
        ["`c`"],
    ),
    "only by columns with statistics": (WIDE, ("c35", "c31", "c32"), ["`c31`"]),
}


@pytest.mark.parametrize("name", CLUSTERED)
def test_gold_is_clustered(name: str) -> None:
    schema, key, columns = CLUSTERED[name]
    assert clustering(schema, key) == columns


DEFAULTS: list[tuple[str, st.DataType, str]] = [
    ("-7", st.ByteType(), "-7"),
    ("18446744073709551615", st.DecimalType(20, 0), "18446744073709551615"),
    ("0.1", st.FloatType(), "0.1"),
    ("1e300", st.DoubleType(), "1.0E300"),
    ("true", st.BooleanType(), "true"),
    ("12.50", st.DecimalType(10, 2), "12.50"),
    ("2024-02-29", st.DateType(), "2024-02-29"),
    ("2024-02-29 12:00:00.123456", st.TimestampNTZType(), "2024-02-29 12:00:00.123456"),
    ("2024-02-29 12:00:00.5+00:00", st.TimestampType(), "2024-02-29 12:00:00.5"),
    ("it's \\ `quoted`", st.StringType(), "it's \\ `quoted`"),
    ("", st.StringType(), ""),
]


def test_defaults_are_values_of_their_columns(spark: SparkSession) -> None:
    one = spark.range(1)
    values = [typed(text, kind) for text, kind, _ in DEFAULTS]
    row = one.select(*(value.cast("string") for value in values)).first()
    assert row is not None
    assert list(row) == [shown for _, _, shown in DEFAULTS]
    kinds: list[Any] = [field.dataType for field in one.select(*values).schema]
    assert kinds == [kind for _, kind, _ in DEFAULTS]


def test_a_binary_default_is_given_in_hex(spark: SparkSession) -> None:
    row = (
        spark.range(1).select(typed("00ff61", st.BinaryType()), typed("", st.BinaryType())).first()
    )
    assert row is not None
    assert [bytes(value) for value in row] == [b"\0\xffa", b""]
