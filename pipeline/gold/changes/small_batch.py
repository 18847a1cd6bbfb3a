"""Few changes: brought to the driver once, so that all that follows is planned on rows at hand.

What a small part costs is planning, Spark's and Delta's, and looking at silver again and again: for
drift, for what the changes come to, by MERGE twice. Local rows cost neither; and where gold is
small too, one task does all of a step.
"""

from __future__ import annotations

import operator
from dataclasses import dataclass, replace

import pyarrow as pa
from pyspark.sql import Column, DataFrame, SparkSession, functions as sf, types as st

from decoder import TableDefinition, TypeOptions
from decoder.constants import ColumnType
from decoder.model.definition import ColumnDefinition
from pipeline.gold.changes.changes import between
from pipeline.gold.changes.log_facts import Facts
from pipeline.gold.changes.steps import Rows
from pipeline.lake import Lake
from pipeline.lake.child_sessions import is_connected, own_session
from pipeline.lake.delta_log.delta_rs import AlteredTableError
from pipeline.lake.delta_log.spark_written import state
from pipeline.lake.small_jobs import FEW, INTERPRETED, staying_active
from pipeline.lake.starting import Spark
from pipeline.lake.tables.native import NativeTables
from pipeline.lake.tables.opening import tables_of
from pipeline.settings.settings import MIB
from pipeline.silver.decode.silver_tables import changes_table, is_mapped

FEW_BYTES = 4 * MIB
"""Of the log, where they may be compressed."""
HELD_BYTES = 16 * MIB
"""Of a part's images, expanded as the driver holds them."""
VALUE_BYTES = 32
"""More than any value takes that is not text or binary."""
LETTER_BYTES = 3
"""What a byte of text becomes at most, where its charset is another than UTF-8."""
SMALL_BYTES = 4 * MIB
"""Of a gold table: rewriting what changes in it costs less than to strike out rows and keep both,
and one task is enough for all of it."""

_SHORT = (ColumnType.STRING, ColumnType.VARCHAR, ColumnType.VAR_STRING, ColumnType.BIT)

ON_SMALL_TABLES = {
    **INTERPRETED,
    "spark.sql.shuffle.partitions": "1",
    "spark.sql.leafNodeDefaultParallelism": "1",
    "spark.databricks.delta.merge.deletionVectors.persistent": "false",
}


@dataclass(frozen=True, slots=True)
class Few:
    """A batch's or a part's changes are at most so many, as the log counted.

    `looking` is the session to look at them in; `sized`: what they take is small enough, too.
    """

    changes: int
    looking: SparkSession
    sized: bool = False


def are_few(facts: Facts) -> bool:
    """Whether the changes of a batch that `facts` tell of may be at the driver.

    What was prepared before, and may be committed in it, is not counted there.
    """
    counted = all(one.lsn > facts.low for one in facts.prepared)
    return counted and facts.changes <= FEW and facts.bytes <= FEW_BYTES


def few_of(few: Few | None, definition: TableDefinition) -> Few | None:
    """What is few in a batch, of a table's part with these columns."""
    if few is None:
        return None
    return replace(few, sized=can_be_held(definition, few.changes))


def can_be_held(definition: TableDefinition, changes: int) -> bool:
    """Whether the types of a table tell that so many changes of it take few bytes."""
    sizes = [_most_bytes(column) for column in definition.columns]
    known = [size for size in sizes if size is not None]
    return len(known) == len(sizes) and 2 * changes * sum(known) <= HELD_BYTES


def _most_bytes(column: ColumnDefinition) -> int | None:
    """What a value takes at most; None where its type sets no limit that counts here."""
    if column.type in _SHORT:
        return VALUE_BYTES + LETTER_BYTES * column.length
    if column.type in (ColumnType.ENUM, ColumnType.SET):
        return VALUE_BYTES + LETTER_BYTES * sum(map(len, column.labels))
    if column.length_bytes == 0:
        return VALUE_BYTES + column.precision  # a DECIMAL of many digits is text
    return (
        None if column.length_bytes > 2 else VALUE_BYTES + LETTER_BYTES * 256**column.length_bytes
    )


def rows_here(spark: Spark, lake: Lake, rows: Rows, types: TypeOptions) -> pa.Table | None:
    """Read silver's rows between a part's bounds without Spark, which takes longer to look at a
    table than to read few rows of it. None where they are not few, or only Spark reads them."""
    tables = tables_of(spark, lake)
    if not isinstance(tables, NativeTables) or is_mapped(rows.definition):
        return None
    if not can_be_held(rows.definition, 1):
        return None  # of any number of bytes: they need not be counted
    try:
        return _counted(tables, lake, rows, types)
    except AlteredTableError:
        return None  # delta-rs does not know a feature that it was given


def _counted(tables: NativeTables, lake: Lake, rows: Rows, types: TypeOptions) -> pa.Table | None:
    table = changes_table(lake, rows.definition, rows.version, types)
    where = between(rows)
    count = tables.count(table, where)
    if count > FEW or not can_be_held(rows.definition, count):
        return None
    return tables.read(table, where)


def fit(changes: DataFrame, count: int, size: int) -> bool:
    """Whether so many changes of one part can be held, with texts and binaries of `size` bytes."""
    values = sum(len(_fields(changes, side)) for side in ("before", "after"))
    return count <= FEW and size + count * values * VALUE_BYTES <= HELD_BYTES


def bytes_of(changes: DataFrame) -> Column:
    """What a change's texts, binaries and JSON diffs take, in both images."""
    sizes = [
        size
        for side in ("before", "after")
        for field in _fields(changes, side)
        for size in _size(sf.col(side).getField(field.name), field.dataType)
    ]
    sizes += _size(sf.map_values("__json_diff"), st.ArrayType(st.StringType()))
    known = (sf.coalesce(size, sf.lit(0)).cast("bigint") for size in sizes)
    # Flat: a sum of hundreds of columns is too deep a tree.
    return sf.reduce(sf.array(*known), sf.lit(0).cast("bigint"), operator.add)


def _size(column: Column, kind: st.DataType) -> list[Column]:
    if isinstance(kind, (st.StringType, st.BinaryType)):
        return [sf.octet_length(column)]
    if isinstance(kind, st.ArrayType):
        return [sf.octet_length(sf.array_join(column, ","))]
    return []


def _fields(changes: DataFrame, side: str) -> list[st.StructField]:
    image = changes.schema[side].dataType
    return image.fields if isinstance(image, st.StructType) else []


def at_driver(changes: DataFrame, most: int) -> pa.Table | None:
    """The changes; None if they are more than `most`: what `retry` took up was not counted."""
    rows = changes.limit(most + 1).toArrow()
    return rows if rows.num_rows <= most else None


def session_for(spark: SparkSession, table: str, looking: SparkSession) -> SparkSession:
    """A session for applying local changes to a gold table: as `spark`, unless that is small.

    `looking` is the session to find that out in.
    """
    if is_connected(spark):
        return spark  # a session more costs more there
    now = state(looking, table)
    if now is None or now.bytes > SMALL_BYTES:
        return spark
    return own_session(spark, ON_SMALL_TABLES)


def local(
    session: SparkSession, parent: SparkSession, rows: pa.Table, schema: st.StructType
) -> DataFrame:
    """The `rows` as rows at hand, of a session that `parent` stays the active one beside."""
    with staying_active(parent):
        return session.createDataFrame(rows, schema)
