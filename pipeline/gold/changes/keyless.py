"""Keyless tables: multisets of rows, in which equal rows can only be counted.

MySQL logs every column of the before images of such a table, so a change removes one copy of a row
and adds one copy of another. The net effect of a part is how many copies of each row to add or
remove; of a row's copies, the newest are removed.

Rows are equal if all their columns are, with NULL equal to NULL, and the doubles 0.0 and -0.0 not.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial, reduce

from pyspark.sql import Column, DataFrame, SparkSession, Window, functions as sf, types as st

from pipeline.gold.changes.fold import Shape, image
from pipeline.gold.changes.images import LeftOut, own_diffs, whole_after
from pipeline.gold.changes.patched_json import misfit
from pipeline.gold.table.gold_table import Write
from pipeline.gold.table.names import COMMITTED_AT, LSN
from pipeline.lake import delta
from pipeline.lake.sql_text import quoted

COPIES = "__binlake_copies"
"""The number of copies of a row to add or, if negative, to remove."""
_TAKES = "__binlake_takes"
_AGE, _THERE = "__binlake_age", "__binlake_there"
_NEWEST, _COPY, _SAME = "__binlake_newest", "__binlake_copy", "__binlake_same"


def apply_keyless(
    spark: SparkSession, changes: DataFrame, shape: Shape, write: Write, left_out: LeftOut
) -> None:
    """Apply the changes to the gold table as one step."""
    if changes.where(sf.col("__op") != "insert").isEmpty():
        rows = copies(net_copies(changes, shape, left_out), shape)
        delta.append_once(rows, write.table, write.step)
        return
    net = net_copies(changes, shape, left_out)
    source = replacements(net, delta.read(spark, write.table), shape)
    values = {quoted(name): sf.col(delta.merged_column(name)) for name in shape.outcome_columns}
    takes = sf.col(delta.merged_column(_TAKES))
    there = partial(delta.target_column, write.table)
    delta.merge_once(
        source,
        write.table,
        write.step,
        on=takes & _same_row(shape, source.schema, there, delta.merged_column),
        clauses=lambda merge: merge.whenMatched().delete().whenNotMatched(~takes).insert(values),
        conf={delta.MATERIALIZE: "all"},
    )


def keyless_misfits(changes: DataFrame, left_out: LeftOut) -> DataFrame:
    """Return columns `lsn` and `reason`: the changes whose JSON diffs do not fit the document."""
    each = [
        misfit(sf.col("before").getField(name), own_diffs(name)) for name in sorted(left_out.json)
    ]
    return changes.select(sf.inline(sf.array_compact(sf.array(*each))))


def net_copies(changes: DataFrame, shape: Shape, left_out: LeftOut) -> DataFrame:
    """Return each row whose number of copies changes once, with `COPIES`."""
    after = [whole_after(name, left_out).alias(name) for name in shape.columns]
    before = [image("before", name) for name in shape.columns]
    own = sf.col(LSN), sf.col(COMMITTED_AT)
    more = changes.where(sf.col("__op") != "delete").select(*after, *own, sf.lit(1).alias(COPIES))
    fewer = changes.where(sf.col("__op") != "insert").select(
        *before, *own, sf.lit(-1).alias(COPIES)
    )
    moved = more.unionByName(fewer)
    newest = sf.max(sf.struct(LSN, COMMITTED_AT))
    values = [sf.any_value(quoted(name)).alias(name) for name in shape.columns]
    same = (same.alias(f"{_SAME}{n}") for n, same in enumerate(_identity(moved.schema, shape)))
    grouped = moved.groupBy(*same).agg(*values, sf.sum(COPIES).alias(COPIES), newest.alias(_NEWEST))
    return grouped.where(sf.col(COPIES) != 0).select(
        *map(quoted, shape.columns),
        sf.col(f"{_NEWEST}.{LSN}"),
        sf.col(f"{_NEWEST}.{COMMITTED_AT}"),
        COPIES,
    )


def copies(net: DataFrame, shape: Shape) -> DataFrame:
    """Return the rows to insert: each row as often as copies of it are to be added."""
    more = net.where(sf.col(COPIES) > 0)
    each = more.withColumn(_COPY, sf.explode(sf.sequence(sf.lit(1), sf.col(COPIES).cast("int"))))
    return each.select(*map(quoted, shape.outcome_columns))


def replacements(net: DataFrame, gold: DataFrame, shape: Shape) -> DataFrame:
    """Return a MERGE's source: rows to delete with all their copies, and copies to insert.

    A row that loses copies is deleted, and the remaining copies are inserted as they are in gold.
    """
    fewer = net.where(sf.col(COPIES) < 0)
    same = _same_row(shape, net.schema, _of("t"), _of("s"))
    found = gold.alias("t").join(fewer.alias("s"), same)
    identity = _identity(net.schema, shape, _of("t"))
    oldest = Window.partitionBy(*identity).orderBy(sf.col(f"t.{LSN}"))
    ranked = found.select(
        *(sf.col(f"t.{quoted(name)}") for name in shape.outcome_columns),
        sf.col(f"s.{COPIES}").alias(COPIES),
        sf.row_number().over(oldest).alias(_AGE),
        sf.count("*").over(Window.partitionBy(*identity)).alias(_THERE),
    )
    staying = ranked.where(sf.col(_AGE) <= sf.col(_THERE) + sf.col(COPIES))
    columns = [*map(quoted, shape.outcome_columns)]
    put_in = copies(net, shape).unionByName(staying.select(*columns))
    taken = fewer.select(*columns, sf.lit(True).alias(_TAKES))
    return put_in.withColumn(_TAKES, sf.lit(False)).unionByName(taken)


def _of(alias: str) -> Callable[[str], str]:
    return lambda name: f"{alias}.{quoted(name)}"


def _same_row(
    shape: Shape,
    schema: st.StructType,
    there: Callable[[str], str],
    here: Callable[[str], str],
) -> Column:
    """Return the condition that two rows are equal; `there`, `here`: their columns in SQL."""
    pairs = zip(_identity(schema, shape, there), _identity(schema, shape, here), strict=True)
    return reduce(Column.__and__, (target.eqNullSafe(source) for target, source in pairs))


def _identity(
    schema: st.StructType, shape: Shape, column: Callable[[str], str] = quoted
) -> list[Column]:
    """Return values that are equal exactly if two rows are; to Spark 0.0 and -0.0 are equal."""
    return [_exact(schema[name].dataType)(sf.col(column(name))) for name in shape.columns]


def _exact(kind: st.DataType) -> Callable[[Column], Column]:
    if isinstance(kind, st.FractionalType) and not isinstance(kind, st.DecimalType):
        return lambda column: column.cast("string")
    if isinstance(kind, st.ArrayType):
        return lambda column: column.cast("array<string>")
    return lambda column: column
