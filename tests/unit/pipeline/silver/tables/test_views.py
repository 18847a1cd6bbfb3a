"""The parts of a table's view that need no catalog: column types, and whether there is a view."""

from __future__ import annotations

import pytest
from pyspark.sql import types as st

from pipeline.lake import Lake
from pipeline.schema_history import TableName
from pipeline.silver.tables.views import wider, write_views
from tests.support.spark.no_spark import NO_SPARK

INT, LONG, TEXT, DOUBLE = st.IntegerType(), st.LongType(), st.StringType(), st.DoubleType()


@pytest.mark.parametrize(
    ("one", "other", "both"),
    [
        (INT, INT, INT),
        (INT, LONG, LONG),
        (INT, st.ByteType(), INT),
        (INT, TEXT, TEXT),
        (INT, DOUBLE, TEXT),
        (LONG, st.DecimalType(20, 0), st.DecimalType(20, 0)),
        (st.DecimalType(10, 2), st.DecimalType(12, 0), st.DecimalType(14, 2)),
        (st.DecimalType(38, 0), st.DecimalType(38, 30), TEXT),
        (st.DateType(), st.TimestampNTZType(), TEXT),
        (st.BinaryType(), TEXT, TEXT),
    ],
)
def test_a_column_of_two_types_has_one_that_holds_both(
    one: st.DataType, other: st.DataType, both: st.DataType
) -> None:
    assert wider(one, other) == wider(other, one) == both


def test_a_lake_of_paths_has_no_views() -> None:
    assert write_views(NO_SPARK, Lake("/lake"), [(TableName("shop", "orders"), 1)]) == []
