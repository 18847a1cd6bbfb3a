"""Which way a lake's tables are read and committed: by delta-rs, or by Spark."""

from __future__ import annotations

from pipeline.lake.child_sessions import is_elsewhere
from pipeline.lake.layout import Lake
from pipeline.lake.starting import Spark, started
from pipeline.lake.tables.by_spark import SparkTables
from pipeline.lake.tables.native import native_tables
from pipeline.lake.tables.tables import Tables


def tables_of(spark: Spark, lake: Lake) -> Tables:
    """By delta-rs where this process reaches the lake's folder; by Spark where a catalog has the
    tables, where Spark is elsewhere with a folder of its own, and in stores that only it knows."""
    native = None if is_elsewhere(spark, lake.root) else native_tables(lake)
    return native or SparkTables(started(spark), lake)
