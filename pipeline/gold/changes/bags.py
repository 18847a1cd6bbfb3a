"""Tables without a key: bags of rows, in which equal rows are told apart by their number alone.

MySQL logs every column of the before images of such a table, so that a change takes one copy of a
row away and puts one of another in. What a part's changes come to is how many copies of each row
more or fewer there are; of copies that go, the newest go.

Rows are equal when all their columns are, NULLs included, and the doubles 0.0 and -0.0 are not.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial, reduce

from pyspark.sql import Column, DataFrame, SparkSession, Window, functions as sf, types as st

from pipeline.gold.changes.documents import misfit
from pipeline.gold.changes.fold import Shape
from pipeline.gold.changes.images import LeftOut, own_diffs, whole_after
from pipeline.gold.table.names import COMMITTED_AT, LSN
from pipeline.gold.table.write import Write
from pipeline.lake import delta
from pipeline.lake.sql_text import quoted

COPIES = "__binlake_copies"
"""How many copies more (or, negative, fewer) of a row there are."""
_TAKES = "__binlake_takes"
_AGE, _THERE = "__binlake_age", "__binlake_there"
_NEWEST, _COPY, _SAME = "__binlake_newest", "__binlake_copy", "__binlake_same"


def put_bag(
    spark: SparkSession, changes: DataFrame, shape: Shape, write: Write, left_out: LeftOut
) -> None:
    """Apply the changes to the gold table as one step."""
    if changes.where(sf.col("__op") != "insert").isEmpty():
        rows = copies(net_copies(changes, shape, left_out), shape)
        delta.append_once(rows, write.table, app=write.app, version=write.version)
        return
    net = net_copies(changes, shape, left_out)
    source = replacements(net, delta.read(spark, write.table), shape)
    values = {quoted(name): sf.col(delta.merged_column(name)) for name in shape.outcome_columns}
    takes = sf.col(delta.merged_column(_TAKES))
    there = partial(delta.target_column, write.table)
    delta.merge_once(
        source,
        write.table,
        on=takes & _same_row(shape, source.schema, there, delta.merged_column),
        clauses=lambda merge: merge.whenMatched().delete().whenNotMatched(~takes).insert(values),
        app=write.app,
        version=write.version,
        conf={delta.MATERIALIZE: "all"},
    )


def bag_misfits(changes: DataFrame, left_out: LeftOut) -> DataFrame:
    """Columns `lsn` and `reason`: the changes whose JSON diffs do not fit the document."""
    each = [
        misfit(sf.col("before").getField(name), own_diffs(name)) for name in sorted(left_out.json)
    ]
    return changes.select(sf.inline(sf.array_compact(sf.array(*each))))


def net_copies(changes: DataFrame, shape: Shape, left_out: LeftOut) -> DataFrame:
    """Each row of which there are more or fewer copies than before, once, with `COPIES`."""
    after = [whole_after(name, left_out).alias(name) for name in shape.columns]
    before = [sf.col("before").getField(name).alias(name) for name in shape.columns]
    more = changes.where(sf.col("__op") != "delete").select(*after, *_own(1))
    fewer = changes.where(sf.col("__op") != "insert").select(*before, *_own(-1))
    moved = more.unionByName(fewer)
    newest = sf.max(sf.struct(LSN, COMMITTED_AT))
    told = [sf.any_value(quoted(name)).alias(name) for name in shape.columns]
    same = (same.alias(f"{_SAME}{n}") for n, same in enumerate(_identity(moved.schema, shape)))
    grouped = moved.groupBy(*same).agg(*told, sf.sum(COPIES).alias(COPIES), newest.alias(_NEWEST))
    return grouped.where(sf.col(COPIES) != 0).select(
        *map(quoted, shape.columns),
        sf.col(f"{_NEWEST}.{LSN}"),
        sf.col(f"{_NEWEST}.{COMMITTED_AT}"),
        COPIES,
    )


def copies(net: DataFrame, shape: Shape) -> DataFrame:
    """Gold's rows to be put in: each row as often as there are more of it."""
    more = net.where(sf.col(COPIES) > 0)
    each = more.withColumn(_COPY, sf.explode(sf.sequence(sf.lit(1), sf.col(COPIES).cast("int"))))
    return each.select(*map(quoted, shape.outcome_columns))


def replacements(net: DataFrame, gold: DataFrame, shape: Shape) -> DataFrame:
    """What a MERGE does: rows to be taken out with all their copies, and copies to be put in.

    A row that loses copies is taken out, and those that stay are put in again as they are in gold.
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


def _own(copies: int) -> list[Column]:
    return [
        sf.col("__lsn").alias(LSN),
        sf.col("__committed_at").alias(COMMITTED_AT),
        sf.lit(copies).alias(COPIES),
    ]


def _of(alias: str) -> Callable[[str], str]:
    return lambda name: f"{alias}.{quoted(name)}"


def _same_row(
    shape: Shape,
    schema: st.StructType,
    there: Callable[[str], str],
    here: Callable[[str], str],
) -> Column:
    """That two rows are equal, each of whose columns `there` and `here` name in SQL."""
    pairs = zip(_identity(schema, shape, there), _identity(schema, shape, here), strict=True)
    return reduce(Column.__and__, (target.eqNullSafe(source) for target, source in pairs))


def _identity(
    schema: st.StructType, shape: Shape, column: Callable[[str], str] = quoted
) -> list[Column]:
    """What two rows have in common if they are equal; Spark takes 0.0 and -0.0 for the same."""
    types = {field.name: field.dataType for field in schema.fields}
    return [_exact(types[name])(sf.col(column(name))) for name in shape.columns]


def _exact(kind: st.DataType) -> Callable[[Column], Column]:
    if isinstance(kind, st.FractionalType) and not isinstance(kind, st.DecimalType):
        return lambda column: column.cast("string")
    if isinstance(kind, st.ArrayType):
        return lambda column: column.cast("array<string>")
    return lambda column: column
