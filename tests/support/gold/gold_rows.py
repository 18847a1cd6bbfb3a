"""A gold table as the log and the files have it, read by delta-rs: no job of Spark's to wait for.

By its query engine, which honours columns' physical names and deletion vectors; delta-rs's other
readers refuse tables that have either.
"""

from __future__ import annotations

import json
import re
from collections import Counter

import pyarrow as pa
from deltalake import DeltaTable, QueryBuilder
from pyspark.sql import SparkSession, types as st
from pyspark.sql.pandas.types import to_arrow_schema

from pipeline.lake import delta


def read_gold(reference: str, version: int | None = None) -> tuple[st.StructType, pa.Table]:
    """The table's schema in Spark's types, and all its rows as Spark gives them in Arrow."""
    opened = DeltaTable(reference, version=version)
    schema = st.StructType.fromJson(json.loads(opened.schema().to_json()))
    query = QueryBuilder().register("gold", opened).execute("SELECT * FROM gold")
    found = pa.table(query.read_all())
    wanted = to_arrow_schema(schema, timezone="UTC")
    for name, kind, type_ in zip(wanted.names, found.schema.types, wanted.types, strict=True):
        assert _plain(kind) == _plain(type_), f"{name} is {kind} in the files, {type_} in the log"
    return schema, found.cast(wanted)


def assert_spark_reads_it_so(spark: SparkSession, reference: str) -> None:
    """Fail unless Spark, by which most users read, gives the rows and types of `read_gold`."""
    by_spark, rows = delta.read(spark, reference).toArrow(), read_gold(reference)[1]
    assert by_spark.schema.types == rows.schema.types
    assert Counter(map(repr, by_spark.to_pylist())) == Counter(map(repr, rows.to_pylist()))


def _plain(kind: pa.DataType) -> str:
    """A type's name, which is the same for all of Arrow's ways to lay texts and binaries out."""
    return re.sub(r"large_|_view|, metadata.*|( not null)", "", str(kind))
