"""Keys that the source does not guarantee: given by the settings, or inexact in gold.

The server's own key is unique, and the decoder refuses lossy values in it. For any other key, both
are checked here.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import reduce

from pyspark.sql import Column, DataFrame, Window, functions as sf, types as st

from decoder import TableDefinition, TypeOptions
from decoder.constants import ZERO_DATE_TYPES, ColumnType
from decoder.model import ColumnDefinition
from pipeline.gold.changes.fold import Shape
from pipeline.gold.changes.images import REPLACEMENT, LeftOut, any_of, is_moved, key_of
from pipeline.gold.table.names import LSN
from pipeline.lake.sql_text import quoted

_ORDER, _THERE, _BEFORE = "__order", "__there", "__before"


def key_refusal(definition: TableDefinition, key: Sequence[str], types: TypeOptions) -> str | None:
    """Return why a key cannot identify rows of this definition in gold, or None."""
    columns = {column.name: column for column in definition.columns}
    for name in key:
        if reason := _refusal(columns[name], definition, types):
            return f"its key has {name}, {reason}"
    return None


def _refusal(
    column: ColumnDefinition, definition: TableDefinition, types: TypeOptions
) -> str | None:
    if column.type in (ColumnType.ENUM, ColumnType.SET) and "" in column.labels:
        return (
            "whose type has an empty label, which looks like the error value or the empty set in"
            " gold"
        )
    own = column.name in definition.key
    may_be_zero = column.type in ZERO_DATE_TYPES and types.zero_dates != "string"
    if own or not column.nullable or not may_be_zero:
        return None
    return (
        "which may be NULL, and a zero date is NULL too: set zero_dates: string, run binlake run"
        " --full-refresh, and seed the tables again"
    )


def is_inexact(shape: Shape, changes: DataFrame) -> Column:
    """Return the condition that a value in a key from the settings stands for several."""
    return any_of(_inexact(shape, changes))


def _inexact(shape: Shape, changes: DataFrame) -> Iterator[Column]:
    for name in sorted(shape.given):
        kind = changes.select(key_of("before", name, {})).schema[0].dataType
        for side, without in (("before", "insert"), ("after", "delete")):
            value = key_of(side, name, {})
            there = sf.col("__op") != without
            if isinstance(kind, st.StringType):
                yield there & sf.coalesce(sf.contains(value, sf.lit(REPLACEMENT)), sf.lit(False))
            if name not in shape.nullable:
                yield there & value.isNull()


def first_repeated(
    changes: DataFrame, shape: Shape, gold: DataFrame, left_out: LeftOut
) -> int | None:
    """Return the LSN of the first transaction that adds a row to an occupied key, or None.

    Rows that gold has from an earlier application of these changes do not count.
    """
    names = {name: f"k{n}" for n, name in enumerate(shape.key)}
    moved = is_moved(shape.key)
    order = sf.struct("__lsn", "__pos", "__row").alias(_ORDER)

    def events(side: str, which: Column, *, there: bool) -> DataFrame:
        key = (key_of(side, name, left_out.defaults).alias(to) for name, to in names.items())
        return changes.where(which).select(*key, order, sf.lit(there).alias(_THERE))

    arriving = events("after", (sf.col("__op") == "insert") | moved, there=True)
    leaving = events("before", (sf.col("__op") == "delete") | moved, there=False)
    so_far = sf.lag(_THERE).over(Window.partitionBy(*names.values()).orderBy(_ORDER))
    before = arriving.unionByName(leaving).withColumn(_BEFORE, so_far).where(_THERE)
    rows = gold.select(*(sf.col(quoted(name)).alias(f"g{key}") for name, key in names.items()), LSN)
    same = [sf.col(key).eqNullSafe(sf.col(f"g{key}")) for key in names.values()]
    older = sf.col(LSN) < sf.col(f"{_ORDER}.__lsn")
    joined = before.join(rows, reduce(Column.__and__, same, older), "left")
    repeated = sf.coalesce(sf.col(_BEFORE), sf.col(LSN).isNotNull())
    row = joined.agg(sf.min(sf.when(repeated, sf.col(f"{_ORDER}.__lsn")))).first()
    return row[0] if row is not None else None
