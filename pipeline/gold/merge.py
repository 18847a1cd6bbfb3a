"""Putting one part's changes into a gold table, as one step.

What the changes are is looked at first (one pass over the key's columns), since it allows much:
inserts alone need no folding, and where gold has no row in the range of their keys there is
nothing to merge with and they are appended. Both are so for a table's first load.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import reduce
from typing import Any

from pyspark.sql import Column, DataFrame, SparkSession, functions as sf, types as st

from pipeline import delta
from pipeline.errors import BinlakeError
from pipeline.gold.bags import put_bag
from pipeline.gold.changes import PARTIAL_COLUMNS
from pipeline.gold.fold import DELETE, Shape, fold, outcomes
from pipeline.gold.images import LeftOut, is_left_out, is_moved, key_of
from pipeline.gold.names import LSN, quoted
from pipeline.gold.partial import MISSING, fold_partial
from pipeline.gold.write import Write

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
    `keyless` counts before images that leave out a column of the key.
    """

    changes: int
    inserts: int
    key_changes: int
    partial: int
    keyless: int
    ranges: Mapping[str, tuple[Any, Any]]

    @property
    def only_inserts(self) -> bool:
        """Every key occurs once then if no change is missing: none can be inserted twice."""
        return self.inserts == self.changes


def extent(changes: DataFrame, shape: Shape) -> Extent:
    """Look at the changes, in one pass that reads the key's columns only."""
    types = {name: changes.select(key_of("after", name)).schema[0].dataType for name in shape.key}
    certain = [name for name in shape.key if name not in shape.nullable]
    ranged = [name for name in certain if isinstance(types[name], RANGE_TYPES)]
    bounds = []
    for name in ranged:
        sides = [key_of("before", name), key_of("after", name)]
        bounds += [sf.min(sf.least(*sides)), sf.max(sf.greatest(*sides))]
    row = changes.agg(
        sf.count("*"),
        sf.count_if(sf.col("__op") == "insert"),
        sf.count_if(is_moved(shape.key)),
        sf.count_if(is_partial()),
        sf.count_if(reduce(Column.__or__, (is_left_out("before", name) for name in shape.key))),
        *bounds,
    ).first()
    changed, inserted, moved, partial, keyless, *found = list(row) if row is not None else [0] * 5
    ranges = {name: (found[2 * n], found[2 * n + 1]) for n, name in enumerate(ranged)}
    return Extent(changed, inserted, moved, partial, keyless, ranges)


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
) -> int:
    """Apply the changes to the gold table as one step; how many they were.

    `complete`: none is missing. Where a DELETE may be, a key may be inserted twice. `left_out` says
    what columns mean that images leave out. Raises BinlakeError where it cannot.
    """
    if not shape.key:
        return _put_bag(spark, changes, shape, write, left_out, complete=complete)
    found = extent(changes, shape)
    if not found.changes:
        return 0
    gold = delta.read(spark, write.table)
    if found.partial:
        _refuse_keyless(found, shape, write.table)
        _refuse_unknown(changes, write.table, left_out, complete=complete)
        known = left_out.known(changes)
        there = gold.where(_all(within(found, gold.schema)))
        folded = fold_partial(known, shape, there, left_out, moves=found.key_changes > 0)
        _merge(spark, folded, shape, found, write, keeps=True)
        return found.changes
    if found.only_inserts and complete:
        folded = outcomes(changes, shape)
    else:
        folded = fold(changes, shape, key_changes=found.key_changes > 0)
    if found.inserts and _nothing_in(gold, found):
        columns = [quoted(name) for name in shape.outcome_columns]
        rows = folded.where(~sf.col(DELETE)).select(*columns)
        delta.append_once(rows, write.table, app=write.app, version=write.version)
    else:
        _merge(spark, folded, shape, found, write)
    return found.changes


def _put_bag(
    spark: SparkSession,
    changes: DataFrame,
    shape: Shape,
    write: Write,
    left_out: LeftOut,
    *,
    complete: bool,
) -> int:
    partly = sf.count_if(sf.col("__absent_before").isNotNull())
    row = changes.agg(sf.count("*"), partly).first()
    count, incomplete = row if row is not None else (0, 0)
    if incomplete:
        raise BinlakeError(
            f"{incomplete} changes for {write.table} do not hold the whole row that they change,"
            " and the log names no key of the table.",
            remedy="Name the source's key in conf, under keys, or set binlog_row_image=FULL there.",
        )
    if count:
        _refuse_unknown(changes, write.table, left_out, complete=complete)
        put_bag(spark, left_out.known(changes), shape, write, left_out)
    return int(count)


def _refuse_keyless(found: Extent, shape: Shape, table: str) -> None:
    if found.keyless:
        raise BinlakeError(
            f"{found.keyless} changes for {table} leave out columns of its key in conf"
            f" ({', '.join(shape.key)}), since the source tells its rows apart by others.",
            remedy="Name the source's own key in conf, or set binlog_row_image=FULL there.",
        )


def _refuse_unknown(changes: DataFrame, table: str, left_out: LeftOut, *, complete: bool) -> None:
    """Raises BinlakeError where inserts leave out what nothing tells."""
    if complete and (unknown := left_out.unknown(changes)):
        raise BinlakeError(
            f"Rows inserted into {table} leave out {', '.join(sorted(unknown))}, whose DEFAULT is"
            " not known.",
            remedy="Silver should have held them: report it.",
        )


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
