"""Arrow rows and types as Spark's, of silver's and gold's tables."""

from __future__ import annotations

from collections.abc import Callable

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession, types as st

_SIMPLE: dict[pa.DataType, st.DataType] = {
    pa.bool_(): st.BooleanType(),
    pa.int8(): st.ByteType(),
    pa.int16(): st.ShortType(),
    pa.int32(): st.IntegerType(),
    pa.int64(): st.LongType(),
    pa.float32(): st.FloatType(),
    pa.float64(): st.DoubleType(),
    pa.string(): st.StringType(),
    pa.binary(): st.BinaryType(),
    pa.date32(): st.DateType(),
    # MySQL's DATETIME is a wall-clock time, TIMESTAMP an instant.
    pa.timestamp("us"): st.TimestampNTZType(),
    pa.timestamp("us", "UTC"): st.TimestampType(),
}


def spark_type(arrow: pa.DataType) -> st.DataType:
    """Return the Spark type of one of the decoder's Arrow types; raise TypeError for any other."""
    if arrow in _SIMPLE:
        return _SIMPLE[arrow]
    for accepts, convert in _NESTED:
        if accepts(arrow):
            return convert(arrow)
    raise TypeError(f"{arrow} is not an Arrow type of the decoder")


def spark_schema(schema: pa.Schema | pa.StructType) -> st.StructType:
    """Return the Spark schema of an Arrow schema or struct."""
    return st.StructType(
        [st.StructField(field.name, spark_type(field.type), field.nullable) for field in schema]
    )


def local_frame(
    spark: SparkSession, rows: pa.Table, schema: st.StructType | None = None
) -> DataFrame:
    """Return rows of this process as a DataFrame; `schema`: if not that of its Arrow types.

    Without a schema, PySpark would read times without a zone in the session's time zone. It needs
    rows in one chunk: it cannot read a column without any, and Spark takes an empty one for the
    end, and so loses the rows after it.
    """
    whole = rows.combine_chunks() if len(rows) else rows.schema.empty_table()
    return spark.createDataFrame(whole, schema or spark_schema(rows.schema))


def _decimal(arrow: pa.DataType) -> st.DataType:
    return st.DecimalType(arrow.precision, arrow.scale)


def _list(arrow: pa.DataType) -> st.DataType:
    return st.ArrayType(spark_type(arrow.value_type))


def _map(arrow: pa.DataType) -> st.DataType:
    return st.MapType(spark_type(arrow.key_type), spark_type(arrow.item_type))


_NESTED: tuple[tuple[Callable[[pa.DataType], bool], Callable[[pa.DataType], st.DataType]], ...] = (
    (pa.types.is_decimal, _decimal),
    (pa.types.is_struct, spark_schema),
    (pa.types.is_list, _list),
    (pa.types.is_map, _map),
)
