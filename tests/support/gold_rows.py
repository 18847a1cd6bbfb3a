"""A gold table as the log and the files have it, read by delta-rs: no job of Spark's to wait for.

By its query engine, which honours columns' physical names and deletion vectors; delta-rs's other
readers refuse tables that have either.
"""

from __future__ import annotations

import json

import pyarrow as pa
from deltalake import DeltaTable, QueryBuilder
from pyspark.sql import types as st
from pyspark.sql.pandas.types import to_arrow_schema


def read_gold(reference: str, version: int | None = None) -> tuple[st.StructType, pa.Table]:
    """The table's schema in Spark's types, and all its rows as Spark gives them in Arrow."""
    opened = DeltaTable(reference, version=version)
    schema = st.StructType.fromJson(json.loads(opened.schema().to_json()))
    query = QueryBuilder().register("gold", opened).execute("SELECT * FROM gold")
    found = pa.table(query.read_all())
    return schema, found.cast(to_arrow_schema(schema, timezone="UTC"))
