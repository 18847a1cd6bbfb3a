"""Fold changes whose images leave columns out to one row per key, like `fold`.

Pure DataFrame transformations. Input: silver's changes with `PARTIAL_COLUMNS`. Output: the table's
columns, gold's own, `DELETE`, and `MISSING`: the columns that no change contains, so that gold's
row keeps its values.

The rows that a key has over time are *lives*: a life begins with an insert, with an update that
moves a row to the key, or before the first change; it ends with a delete, or with an update that
moves the row away. The last value that a life's changes contain for a column holds for the life.
Columns that they do not contain keep the value from before the life: after an insert none are
unknown; for a row that was moved, the value comes from its life at the other key; and if no change
contains it, from gold, at the key of the row's first life. A row for which gold has no such row
ends as deleted, since the row that gold has at its key is a different one.
"""

from __future__ import annotations

from functools import reduce

from pyspark.sql import Column, DataFrame, functions as sf

from pipeline.gold.changes.documents import misfit, with_diffs
from pipeline.gold.changes.fold import DELETE, Shape
from pipeline.gold.changes.images import LeftOut, known
from pipeline.gold.changes.lives import GONE, LIFE, LOST, STALE, VALUE, Lives
from pipeline.gold.table.names import COMMITTED_AT, LSN
from pipeline.lake.sql_text import quoted

MISSING = "__binlake_missing"
"""Names of the columns that keep gold's value."""
_NEEDS, _BASE, _FOUND = "__needs", "__base", "__found"


def fold_partial(
    changes: DataFrame, shape: Shape, gold: DataFrame, left_out: LeftOut, *, lives: bool
) -> DataFrame:
    """Return one row per key.

    `gold` is read for rows that moved, that have diffs, or that have a generated column to compute.
    `lives=False` asserts that no update changes a key and that no insert is lost.
    """
    table = Lives(shape, left_out)
    found, based = _found(changes, table, gold, lives=lives)
    return found.select(*_outcome(shape, table, based=based))


def misfits(
    changes: DataFrame, shape: Shape, gold: DataFrame, left_out: LeftOut, *, lives: bool
) -> DataFrame:
    """Return columns `lsn` and `reason`: the changes whose JSON diffs do not fit the document."""
    table = Lives(shape, left_out)
    found, _ = _found(changes, table, gold, lives=lives)
    each = [
        misfit(_known(name, table, based=True), sf.col(diffs))
        for name, diffs in table.diffs.items()
    ]
    return found.select(sf.inline(sf.array_compact(sf.array(*each))))


def _found(
    changes: DataFrame, table: Lives, gold: DataFrame, *, lives: bool
) -> tuple[DataFrame, bool]:
    """Return the last life of each key, and whether gold's row is joined where it is needed."""
    events = table.events(changes)
    if lives:
        events = table.in_lives(events)
        all_lives = table.lives(events, (LIFE,))
        found = table.with_ancestors(table.last(all_lives), events, all_lives)
    else:
        found = table.lives(events)
    found = found.withColumn(GONE, sf.col(GONE) | (sf.col(LOST) & table.unknown))
    based = lives or bool(table.diffs) or bool(table.computed)
    return (_with_base(found, table, gold) if based else found), based


def _with_base(found: DataFrame, table: Lives, gold: DataFrame) -> DataFrame:
    """Join gold's row to the rows that need one; mark those as gone that have none there."""
    pending = [
        sf.col(table.values[name]).isNull() & (sf.size(diffs) > 0)
        for name, diffs in table.diffs.items()
    ]
    moved = reduce(
        Column.__or__, (~sf.col(key).eqNullSafe(sf.col(root)) for key, root in table.roots.items())
    )
    needs = ~sf.col(GONE) & reduce(Column.__or__, pending, (moved | table.stale) & table.unknown)
    base = gold.select(
        *(sf.col(quoted(name)).alias(f"__base_{key}") for name, key in table.key.items()),
        sf.struct(*(sf.col(quoted(name)).alias(v) for name, v in table.values.items())).alias(
            _BASE
        ),
        sf.lit(True).alias(_FOUND),
    )
    same = [sf.col(root).eqNullSafe(sf.col(f"__base_{key}")) for key, root in table.roots.items()]
    rows = found.withColumn(_NEEDS, needs)
    joined = rows.join(base, reduce(Column.__and__, same, sf.col(_NEEDS)), "left")
    gone = sf.col(GONE) | (sf.col(_NEEDS) & sf.col(_FOUND).isNull())
    # A row that is gone has no document to apply diffs to.
    diffs = {p: sf.when(~gone, sf.col(p)) for p in table.diffs.values()}
    return joined.withColumns({**diffs, GONE: gone})


def _outcome(shape: Shape, table: Lives, *, based: bool) -> list[Column]:
    nothing = sf.array().cast("array<string>")
    keeps = (sf.when(sf.col(v).isNull(), sf.lit(name)) for name, v in table.values.items())
    missing = sf.array_compact(sf.array(*keeps)) if table.values else nothing
    kept = sf.col(GONE) | sf.col(_FOUND).isNotNull() if based else sf.col(GONE)
    return [
        *(_column(name, table, based=based).alias(name) for name in shape.columns),
        sf.col("__lsn").alias(LSN),
        sf.col(COMMITTED_AT),
        sf.col(GONE).alias(DELETE),
        sf.when(kept, nothing).otherwise(missing).alias(MISSING),
    ]


def _column(name: str, table: Lives, *, based: bool) -> Column:
    if name in table.key:
        return sf.col(table.key[name])
    found = _known(name, table, based=based)
    if name in table.diffs:
        return with_diffs(found, sf.col(table.diffs[name]), lenient=table.left_out.lenient)
    return found


def _known(name: str, table: Lives, *, based: bool) -> Column:
    """Return a column's last value in the changes, or gold's."""
    value = table.values[name]
    found = sf.col(value).getField(VALUE)
    if not based:
        return found
    if name in table.computed:
        # A row that is gone has no other columns to compute it from.
        stale = sf.col(value).getField(STALE) & ~sf.col(GONE)
        found = sf.when(stale, _computed(name, table)).otherwise(found)
    return sf.when(sf.col(value).isNotNull(), found).otherwise(sf.col(_BASE).getField(value))


def _computed(name: str, table: Lives) -> Column:
    """Return a generated column's value, computed from the row's final other columns."""
    value = table.computed[name].value
    if value is None:
        raise ValueError(f"column {name} cannot be computed")
    found, is_certain = value(lambda other: _column(other, table, based=True))
    return known(found, is_certain, name, vouched=not table.left_out.lenient)
