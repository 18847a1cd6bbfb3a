"""Readers of Delta tables that people use on gold, each with its own reading of a Delta log.

Each returns a table's rows as sorted tuples of Python values, so that readers are compared value by
value: instants in UTC, binaries as bytes, structs as dicts.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import datetime, timezone
from importlib.resources import files
from typing import Any

import pyarrow as pa
from deltalake import DeltaTable, QueryBuilder
from pyspark.sql import SparkSession

from pipeline.lake import delta

Rows = list[tuple[Any, ...]]
Reader = Callable[[SparkSession, str], pa.Table]


def _spark(spark: SparkSession, path: str) -> pa.Table:
    return delta.read(spark, path).toArrow()


def _delta_rs(_spark: SparkSession, path: str) -> pa.Table:
    query = QueryBuilder().register("gold", DeltaTable(path)).execute("SELECT * FROM gold")
    return pa.table(query.read_all())


def _pyarrow(_spark: SparkSession, path: str) -> pa.Table:
    return DeltaTable(path).to_pyarrow_table()


def _polars(_spark: SparkSession, path: str) -> pa.Table:
    import polars

    return polars.scan_delta(path).collect().to_arrow()


def _duckdb(_spark: SparkSession, path: str) -> pa.Table:
    import duckdb

    with duckdb.connect() as connection:
        connection.load_extension(duckdb_extension())
        return connection.execute("FROM delta_scan(?)", [path]).to_arrow_table()


def duckdb_extension() -> str:
    """Return the path of DuckDB's extension `delta`, which comes with its wheel."""
    import duckdb

    folder = files("duckdb_extension_delta") / "extensions" / f"v{duckdb.__version__}"
    return str(folder / "delta.duckdb_extension")


READERS: Mapping[str, Reader] = {
    "spark": _spark,
    "delta-rs": _delta_rs,
    "pyarrow": _pyarrow,
    "polars": _polars,
    "duckdb": _duckdb,
}


def rows_by(reader: str, spark: SparkSession, path: str) -> tuple[list[str], Rows]:
    """Return a table's column names and rows as a reader has them, without gold's own columns."""
    found = READERS[reader](spark, path)
    assert found.column_names[-2:] == ["__lsn", "__committed_at"]
    own = found.select(found.column_names[:-2])
    values = (tuple(map(_plain, row.values())) for row in own.to_pylist())
    return own.column_names, sorted(values, key=repr)


def _plain(value: Any) -> Any:
    if isinstance(value, datetime) and value.tzinfo is not None:
        return value.astimezone(timezone.utc)
    return bytes(value) if isinstance(value, (bytearray, memoryview)) else value
