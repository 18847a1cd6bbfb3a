"""Values of DEFAULTs in gold's columns."""

from __future__ import annotations

from typing import Any

from pyspark.sql import SparkSession, functions as sf, types as st

from pipeline.gold.schema.alter_table import typed

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


def test_defaults_have_their_columns_types(spark: SparkSession) -> None:
    one = spark.range(1)
    values = [sf.expr(typed(text, kind)) for text, kind, _ in DEFAULTS]
    row = one.select(*(value.cast("string") for value in values)).first()
    assert row is not None
    assert list(row) == [shown for _, _, shown in DEFAULTS]
    kinds: list[Any] = [field.dataType for field in one.select(*values).schema]
    assert kinds == [kind for _, kind, _ in DEFAULTS]


def test_a_binary_default_is_written_in_hex(spark: SparkSession) -> None:
    values = [sf.expr(typed(text, st.BinaryType())) for text in ("00ff61", "")]
    row = spark.range(1).select(*values).first()
    assert row is not None
    assert [bytes(value) for value in row] == [b"\0\xffa", b""]
