"""Putting one part's changes into a gold table, as one step.

What the changes are is looked at first (one pass over the key's columns), since it allows much:
inserts alone need no folding, and where gold has no row in the range of their keys there is
nothing to merge with and they are appended. Both are so for a table's first load.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from functools import reduce
from typing import Any

from pyspark.sql import Column, DataFrame, SparkSession, functions as sf, types as st

from pipeline import delta
from pipeline.gold.bags import bag_misfits, put_bag
from pipeline.gold.changes import PARTIAL_COLUMNS
from pipeline.gold.fold import DELETE, Shape, fold, outcomes
from pipeline.gold.images import LeftOut, is_left_out, is_moved, key_of
from pipeline.gold.keys import first_repeated, is_inexact
from pipeline.gold.names import LSN, quoted
from pipeline.gold.partial import MISSING, fold_partial, misfits
from pipeline.gold.refuse import (
    key_inexact,
    key_left_out,
    key_repeated,
    refuse_unknown,
    row_left_out,
    write_documents,
)
from pipeline.gold.write import Write

Look = Callable[[DataFrame, Shape, DataFrame, int], None]
"""Is shown changes, the table's shape, gold's rows in the range of their keys, and their number."""
RANGE_TYPES = (st.IntegralType, st.DecimalType, st.DateType, st.StringType)
"""Key types whose values come to Python and back unchanged, and whose statistics Delta keeps."""

MERGE_CONF = {
    # The folded changes are read twice: fold them once.
    "spark.databricks.delta.merge.materializeSource": "all",
}


@dataclass(frozen=True, slots=True)
class Extent:
    """What a part's changes are: how many of each kind, and the least and greatest key.

    `ranges` holds both, over before and after images, for the key columns that can be compared so.
    `keyless` is the LSN of the first before image that leaves out a column of the key, `unknown`
    that of the first change that leaves out what nothing tells, `inexact` that of the first key
    with a value that stands for others.
    """

    changes: int
    inserts: int = 0
    key_changes: int = 0
    partial: int = 0
    keyless: int | None = None
    unknown: int | None = None
    inexact: int | None = None
    ranges: Mapping[str, tuple[Any, Any]] = field(default_factory=dict)

    @property
    def only_inserts(self) -> bool:
        """Every key occurs once then if no change is missing: none can be inserted twice."""
        return self.inserts == self.changes


def extent(changes: DataFrame, shape: Shape, left_out: LeftOut) -> Extent:
    """Look at the changes, in one pass that reads the key's columns only."""
    defaults = left_out.defaults
    certain = [name for name in shape.key if name not in shape.nullable]
    after = {name: key_of("after", name, defaults) for name in certain}
    types = {name: changes.select(column).schema[0].dataType for name, column in after.items()}
    ranged = [name for name in certain if isinstance(types[name], RANGE_TYPES)]
    bounds = []
    for name in ranged:
        sides = [key_of("before", name, defaults), after[name]]
        bounds += [sf.min(sf.least(*sides)), sf.max(sf.greatest(*sides))]
    row = changes.agg(
        sf.count("*"),
        sf.count_if(sf.col("__op") == "insert"),
        sf.count_if(is_moved(shape.key)),
        sf.count_if(is_partial()),
        _first(reduce(Column.__or__, (is_left_out("before", name) for name in shape.key))),
        _first(left_out.is_unknown()),
        _first(is_inexact(shape, changes)),
        *bounds,
    ).first()
    if row is None:
        return Extent(0)
    changed, inserted, moved, partial, keyless, unknown, inexact, *found = list(row)
    ranges = {name: (found[2 * n], found[2 * n + 1]) for n, name in enumerate(ranged)}
    return Extent(changed, inserted, moved, partial, keyless, unknown, inexact, ranges)


def _first(condition: Column) -> Column:
    """The first transaction with a change of which this holds."""
    return sf.min(sf.when(condition, sf.col("__lsn")))


def is_partial() -> Column:
    """Whether one of a change's images leaves something out."""
    return reduce(Column.__or__, (sf.col(name).isNotNull() for name in PARTIAL_COLUMNS))


def put(
    spark: SparkSession,
    changes: DataFrame,
    shape: Shape,
    write: Write,
    *,
    left_out: LeftOut,
    complete: bool,
    look: Look | None = None,
) -> int:
    """Apply the changes to the gold table as one step; how many they were.

    `complete`: none is missing. Where a DELETE may be, a key may be inserted twice. `left_out` says
    what columns mean that images leave out; `look` is shown changes with whole images before they
    are applied. Raises TableRefusedError where it cannot.
    """
    if not shape.key:
        return _put_bag(spark, changes, shape, write, left_out)
    found = extent(changes, shape, left_out)
    if not found.changes:
        return 0
    if found.keyless is not None:
        raise key_left_out(found.keyless, shape.key)
    if found.inexact is not None:
        raise key_inexact(found.inexact, shape.key)
    if not shape.unique:
        _refuse_repeated(spark, changes, shape, write, left_out, found)
    if found.partial:
        _put_partial(spark, changes, shape, write, left_out, found)
        return found.changes
    if found.only_inserts and complete:
        folded = outcomes(changes, shape)
    else:
        folded = fold(changes, shape, key_changes=found.key_changes > 0)
    gold = delta.read(spark, write.table)
    is_new = found.inserts > 0 and _nothing_in(gold, found)
    if look and not (is_new and found.only_inserts):
        look(changes, shape, gold.where(_all(within(found, gold.schema))), found.changes)
    if is_new:
        columns = [quoted(name) for name in shape.outcome_columns]
        rows = folded.where(~sf.col(DELETE)).select(*columns)
        delta.append_once(rows, write.table, app=write.app, version=write.version)
    else:
        _merge(spark, folded, shape, found, write)
    return found.changes


def _refuse_repeated(
    spark: SparkSession,
    changes: DataFrame,
    shape: Shape,
    write: Write,
    left_out: LeftOut,
    found: Extent,
) -> None:
    gold = delta.read(spark, write.table)
    there = gold.where(_all(within(found, gold.schema)))
    if (lsn := first_repeated(changes, shape, there, left_out)) is not None:
        raise key_repeated(lsn, shape.key)


def _put_partial(
    spark: SparkSession,
    changes: DataFrame,
    shape: Shape,
    write: Write,
    left_out: LeftOut,
    found: Extent,
) -> None:
    if found.unknown is not None:
        refuse_unknown(changes, left_out, found.unknown)
    gold = delta.read(spark, write.table)
    there = gold.where(_all(within(found, gold.schema)))
    lives = found.key_changes > 0 or found.unknown is not None
    folded = fold_partial(changes, shape, there, left_out, lives=lives)
    write_documents(
        lambda: _merge(spark, folded, shape, found, write, keeps=True),
        lambda: misfits(changes, shape, there, left_out, lives=lives),
    )


def _put_bag(
    spark: SparkSession, changes: DataFrame, shape: Shape, write: Write, left_out: LeftOut
) -> int:
    incomplete = _first(sf.col("__absent_before").isNotNull())
    row = changes.agg(sf.count("*"), incomplete, _first(left_out.is_unknown())).first()
    count, keyless, unknown = row if row is not None else (0, None, None)
    if keyless is not None:
        raise row_left_out(keyless)
    if unknown is not None:
        refuse_unknown(changes, left_out, unknown)
    if count:
        known = left_out.known(changes)
        write_documents(
            lambda: put_bag(spark, known, shape, write, left_out),
            lambda: bag_misfits(known, left_out),
        )
    return int(count)


def within(found: Extent, schema: st.StructType, alias: str = "") -> list[Column]:
    """That a row's key is in the ranges, as conditions with literals, which prune files."""
    types = {field.name: field.dataType for field in schema.fields}
    conditions = []
    for name, limits in found.ranges.items():
        low, high = (sf.lit(limit).cast(types[name]) for limit in limits)
        conditions.append(sf.col(f"{alias}{quoted(name)}").between(low, high))
    return conditions


def _nothing_in(target: DataFrame, found: Extent) -> bool:
    """Whether no row is in the ranges. Statistics answer, or the first file that has one."""
    return target.where(_all(within(found, target.schema))).isEmpty()


def _all(conditions: Iterable[Column]) -> Column:
    return reduce(Column.__and__, conditions, sf.lit(True))


def _same(name: str, shape: Shape) -> Column:
    target, source = sf.col(f"t.{quoted(name)}"), sf.col(f"s.{quoted(name)}")
    return target.eqNullSafe(source) if name in shape.nullable else target == source


def _merge(
    spark: SparkSession,
    folded: DataFrame,
    shape: Shape,
    found: Extent,
    write: Write,
    *,
    keeps: bool = False,
) -> None:
    """MERGE what was folded; `keeps`: a row keeps the columns that its `MISSING` names."""
    keys = [_same(name, shape) for name in shape.key]
    on = _all([*keys, *within(found, folded.schema, "t.")])
    said = {quoted(name): sf.col(f"s.{quoted(name)}") for name in shape.outcome_columns}
    values: dict[str, str | Column] = {**said}
    updated, inserted = values, ~sf.col(f"s.{DELETE}")
    if keeps:
        missing = sf.col(f"s.{MISSING}")
        updated = {
            quoted(name): sf.when(
                sf.array_contains(missing, name), sf.col(f"t.{quoted(name)}")
            ).otherwise(said[quoted(name)])
            for name in shape.outcome_columns
        }
        inserted &= sf.size(missing) == 0
    # Guards a row against older changes, whatever brought it here.
    newer = sf.col(f"s.{LSN}") >= sf.col(f"t.{LSN}")
    deleted = sf.col(f"s.{DELETE}")

    def merge(session: SparkSession) -> None:
        for key, value in MERGE_CONF.items():
            session.conf.set(key, value)
        target = delta.open_table(session, write.table).alias("t")
        (
            target.merge(folded.alias("s"), on)
            .whenMatchedDelete(deleted & newer)
            .whenMatchedUpdate(~deleted & newer, set=updated)
            .whenNotMatchedInsert(inserted, values=values)
            .execute()
        )

    delta.execute_once(spark, merge, write.table, app=write.app, version=write.version)
