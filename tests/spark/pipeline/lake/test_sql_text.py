"""Names and texts of any characters in Spark's SQL."""

from __future__ import annotations

import pytest
from pyspark.sql import SparkSession

from pipeline.lake.sql_text import literal, quoted

TEXTS = [
    "",
    "plain",
    "it's",
    '"',
    "\\",
    "\\'",
    "a\nb\t\0",
    "%_\\%",
    "`",
    "é ☃ 😀",
    "${x}",
    "--",
    "/*",
]


def test_literals_are_read_as_the_same_text(spark: SparkSession) -> None:
    row = spark.sql(f"SELECT {', '.join(map(literal, TEXTS))}").first()
    assert row is not None
    assert list(row) == TEXTS


@pytest.mark.parametrize("name", [text for text in TEXTS if text])
def test_quoted_names_are_read_as_the_same_name(spark: SparkSession, name: str) -> None:
    assert spark.sql(f"SELECT 1 AS {quoted(name)}").columns == [name]
