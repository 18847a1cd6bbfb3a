"""Few changes: brought to the driver once, so that all that follows is planned on rows at hand.

What a small part costs is planning, Spark's and Delta's, and looking at silver again and again: for
drift, for what the changes come to, by MERGE twice. Local rows cost neither; and where gold is
small too, one task does all of a step.
"""

from __future__ import annotations

import operator

from pyspark.sql import Column, DataFrame, SparkSession, functions as sf, types as st

from pipeline import delta
from pipeline.gold.facts import Facts
from pipeline.settings import MIB

FEW = 20_000
"""Changes of a batch, in all its tables."""
FEW_BYTES = 4 * MIB
"""Of the log, where they may be compressed."""
HELD_BYTES = 16 * MIB
"""Of a part's images, expanded as the driver holds them."""
VALUE_BYTES = 16
"""More than any value takes that is not text or binary."""
SMALL_BYTES = 4 * MIB
"""Of a gold table: rewriting what changes in it costs less than to strike out rows and keep both,
one task is enough for all of it, and code that Spark generates takes longer to compile than it
saves."""

ON_SMALL_TABLES = {
    "spark.sql.shuffle.partitions": "1",
    "spark.sql.leafNodeDefaultParallelism": "1",
    # It makes a job of every exchange, to look at sizes that are known here.
    "spark.sql.adaptive.enabled": "false",
    "spark.sql.codegen.wholeStage": "false",
    "spark.sql.codegen.factoryMode": "NO_CODEGEN",
    "spark.databricks.delta.merge.deletionVectors.persistent": "false",
}


def are_few(facts: Facts) -> bool:
    """Whether the changes of a batch that `facts` tell of may be at the driver.

    What was prepared before, and is committed in it, is not counted there.
    """
    return not facts.prepared and facts.changes <= FEW and facts.bytes <= FEW_BYTES


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


def session_for(spark: SparkSession, table: str) -> SparkSession:
    """A session for applying local changes to a gold table: as `spark`, unless that is small."""
    detail = delta.open_table(spark, table).detail().select("sizeInBytes").first()
    if detail is None or detail["sizeInBytes"] > SMALL_BYTES:
        return spark
    session = delta.own_session(spark, {})
    for name, value in ON_SMALL_TABLES.items():
        # They only save time, and not every server lets them be set.
        if session.conf.isModifiable(name):
            session.conf.set(name, value)
    return session


def local(session: SparkSession, changes: DataFrame) -> DataFrame:
    """The same changes as rows at hand, of that session."""
    rows = session.createDataFrame(changes.toArrow(), changes.schema)
    # Whoever creates rows makes the session the active one, which others would take up.
    changes.sparkSession.createDataFrame([], "nothing int")
    return rows
