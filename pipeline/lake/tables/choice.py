"""Choice of the implementation for a lake's tables: delta-rs or Spark."""

from __future__ import annotations

from pipeline.lake.child_sessions import is_elsewhere
from pipeline.lake.layout import Lake
from pipeline.lake.lazy_spark import Spark, started
from pipeline.lake.tables.by_spark import SparkTables
from pipeline.lake.tables.native import native_tables
from pipeline.lake.tables.tables import Tables


def tables_of(spark: Spark, lake: Lake) -> Tables:
    """Return the lake's tables by delta-rs if this process can access the lake's folder; by Spark
    if they are in a catalog, in a folder on Spark's own machine, or in a store that only Spark
    supports."""
    native = None if is_elsewhere(spark, lake.root) else native_tables(lake)
    return native or SparkTables(started(spark), lake)
