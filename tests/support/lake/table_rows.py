"""Read a lake's tables by delta-rs, which is faster than a Spark job.

Uses its query engine, which supports column mapping and deletion vectors; delta-rs's other readers
reject tables with either.
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


def read_table(reference: str, version: int | None = None) -> tuple[st.StructType, pa.Table]:
    """Return the schema in Spark's types, and all rows in Arrow as Spark returns them."""
    opened = DeltaTable(reference, version=version)
    schema = st.StructType.fromJson(json.loads(opened.schema().to_json()))
    query = QueryBuilder().register("given", opened).execute("SELECT * FROM given")
    found = pa.table(query.read_all())
    wanted = to_arrow_schema(schema, timezone="UTC")
    for name, kind, type_ in zip(wanted.names, found.schema.types, wanted.types, strict=True):
        assert _plain(kind) == _plain(type_), f"{name} is {kind} in the files, {type_} in the log"
    return schema, found.cast(wanted)


def assert_spark_reads_it_so(spark: SparkSession, reference: str) -> None:
    """Fail unless Spark returns the same rows and types as `read_table`."""
    by_spark, rows = delta.read(spark, reference).toArrow(), read_table(reference)[1]
    assert by_spark.schema.types == rows.schema.types
    assert Counter(map(repr, by_spark.to_pylist())) == Counter(map(repr, rows.to_pylist()))


def _plain(kind: pa.DataType) -> str:
    """Return a type's name without Arrow's variants of strings and binaries."""
    return re.sub(r"large_|_view|, metadata.*|( not null)", "", str(kind))
