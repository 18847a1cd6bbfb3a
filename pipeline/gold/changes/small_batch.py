"""Small batches: their changes are collected at the driver once, and processed as local rows.

The cost of a small part is planning, by Spark and Delta, and reading silver repeatedly: for drift,
for the fold, twice for MERGE. Local rows avoid both; and if the gold table is small too, one task
does each step.
"""

from __future__ import annotations

import operator
from dataclasses import dataclass, replace

import pyarrow as pa
from pyspark.sql import Column, DataFrame, SparkSession, functions as sf, types as st

from decoder import TableDefinition, TypeOptions
from decoder.constants import ColumnType
from decoder.model import ColumnDefinition
from pipeline.gold.changes.changes import between, left_out_of, without_here
from pipeline.gold.changes.images import image_type
from pipeline.gold.changes.log_facts import Facts
from pipeline.gold.changes.steps import Rows
from pipeline.lake import Lake
from pipeline.lake.child_sessions import (
    FEW,
    INTERPRETED,
    child_session,
    is_connected,
    staying_active,
)
from pipeline.lake.delta_log.delta_rs import AlteredTableError
from pipeline.lake.delta_log.spark_types import local_frame
from pipeline.lake.delta_log.spark_written import state
from pipeline.lake.lazy_spark import FEW_BYTES, Spark
from pipeline.lake.tables.choice import tables_of
from pipeline.lake.tables.native import NativeTables
from pipeline.settings.settings import MIB
from pipeline.silver.decode.silver_tables import changes_table, is_mapped

SMALL_BYTES = 4 * MIB
"""Size of files below which rewriting them costs less than deletion vectors."""
HELD_BYTES = 16 * MIB
"""Limit on the size of a part's images, uncompressed in the driver's memory."""
VALUE_BYTES = 32
"""Upper limit for a value that is neither text nor binary."""
LETTER_BYTES = 3
"""Upper limit for a byte of text once converted from its charset to UTF-8."""

_SHORT = (ColumnType.STRING, ColumnType.VARCHAR, ColumnType.VAR_STRING, ColumnType.BIT)

ON_SMALL_TABLES = {
    **INTERPRETED,
    "spark.sql.shuffle.partitions": "1",
    "spark.sql.leafNodeDefaultParallelism": "1",
    "spark.databricks.delta.merge.deletionVectors.persistent": "false",
}


@dataclass(frozen=True, slots=True)
class Few:
    """An upper limit for the number of changes of a batch or part, from the counts in the log.

    `session` is the session to read them in, which starts when it is first needed; `sized`: their
    size is known to be small, too.
    """

    changes: int
    session: Spark
    sized: bool = False


def are_few(facts: Facts) -> bool:
    """Return True if a batch's changes may be collected at the driver.

    Not if it may commit transactions prepared earlier, since `facts` do not count those.
    """
    counted = all(one.lsn > facts.low or not one.decided_after(facts.low) for one in facts.prepared)
    return counted and facts.changes <= FEW and facts.bytes <= FEW_BYTES


def few_of(few: Few | None, definition: TableDefinition) -> Few | None:
    """Return the limit for a part of a table with this definition."""
    if few is None:
        return None
    return replace(few, sized=can_be_held(definition, few.changes))


def can_be_held(definition: TableDefinition, changes: int) -> bool:
    """Return True if the table's types guarantee that this many changes fit into memory."""
    sizes = [_most_bytes(column) for column in definition.columns]
    known = [size for size in sizes if size is not None]
    return len(known) == len(sizes) and 2 * changes * sum(known) <= HELD_BYTES


def _most_bytes(column: ColumnDefinition) -> int | None:
    """Return a value's maximum size; None if its type sets no useful limit."""
    if column.type in _SHORT:
        return VALUE_BYTES + LETTER_BYTES * column.length
    if column.type in (ColumnType.ENUM, ColumnType.SET):
        return VALUE_BYTES + LETTER_BYTES * sum(map(len, column.labels))
    if column.length_bytes == 0:
        return VALUE_BYTES + column.precision  # a DECIMAL of many digits is text
    return (
        None if column.length_bytes > 2 else VALUE_BYTES + LETTER_BYTES * 256**column.length_bytes
    )


def changes_here(
    spark: Spark, lake: Lake, rows: Rows, facts: Facts, types: TypeOptions
) -> pa.Table | None:
    """Return the changes logged between a part's bounds, in silver's columns, without those that
    are rolled back or belong to XA transactions; None as `rows_here` does."""
    here = rows_here(spark, lake, rows, types)
    if here is None:
        return None
    return without_here(here, left_out_of(rows, facts.skipped, facts.prepared))


def rows_here(spark: Spark, lake: Lake, rows: Rows, types: TypeOptions) -> pa.Table | None:
    """Read a part's rows from silver without Spark, which is slow to open a table.

    None if there are too many, or only Spark can read them.
    """
    tables = tables_of(spark, lake)
    if not isinstance(tables, NativeTables) or is_mapped(rows.definition):
        return None
    table = changes_table(lake, rows.definition, rows.version, types)
    try:
        return tables.read_few(table, between(rows), rows=FEW, size=HELD_BYTES)
    except AlteredTableError:
        return None  # delta-rs does not support a feature of the table


def fit(changes: DataFrame, count: int, size: int) -> bool:
    """Return True if this many changes, with texts and binaries of `size` bytes, are small."""
    values = 2 * len(image_type(changes.schema).fields)
    return count <= FEW and size + count * values * VALUE_BYTES <= HELD_BYTES


def bytes_of(changes: DataFrame) -> Column:
    """Return the size of a change's texts, binaries and JSON diffs, in both images."""
    sizes = [
        size
        for side in ("before", "after")
        for field in image_type(changes.schema).fields
        for size in _size(sf.col(side).getField(field.name), field.dataType)
    ]
    sizes += _size(sf.map_values("__json_diff"), st.ArrayType(st.StringType()))
    known = (sf.coalesce(size, sf.lit(0)).cast("bigint") for size in sizes)
    # A flat sum: nested additions of hundreds of columns make the expression tree too deep.
    return sf.reduce(sf.array(*known), sf.lit(0).cast("bigint"), operator.add)


def _size(column: Column, kind: st.DataType) -> list[Column]:
    if isinstance(kind, (st.StringType, st.BinaryType)):
        return [sf.octet_length(column)]
    if isinstance(kind, st.ArrayType):
        return [sf.octet_length(sf.array_join(column, ","))]
    return []


def at_driver(changes: DataFrame, most: int) -> pa.Table | None:
    """Return the changes; None if more than `most`: rows that `retry` added were not counted."""
    rows = changes.limit(most + 1).toArrow()
    return rows if rows.num_rows <= most else None


def session_for(spark: SparkSession, table: str, session: Spark) -> SparkSession:
    """Return a session for applying local changes to a gold table: `spark`, unless it is small.

    `session` is the session in which to read the table's size.
    """
    if is_connected(spark):
        return spark  # with Spark Connect, another session costs more than it saves
    now = state(session, table)
    if now is None or now.bytes > SMALL_BYTES:
        return spark
    return child_session(spark, ON_SMALL_TABLES)


def local(
    session: SparkSession, parent: SparkSession, rows: pa.Table, schema: st.StructType
) -> DataFrame:
    """Return a local DataFrame in `session`, keeping `parent` the active session."""
    with staying_active(parent):
        return local_frame(session, rows, schema)
