"""Putting one part's changes into a gold table, as one step.

What the changes are is looked at first (one pass over the key's columns), since it allows much:
inserts alone need no folding, and where gold has no row in the range of their keys there is
nothing to merge with and they are appended. Both are so for a table's first load.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import reduce
from typing import Any

from pyspark.sql import Column, DataFrame, SparkSession, functions as sf, types as st

from pipeline import delta
from pipeline.errors import BinlakeError
from pipeline.gold.changes import PARTIAL_COLUMNS
from pipeline.gold.fold import DELETE, Shape, fold, image, key_changed, outcomes
from pipeline.gold.names import LSN, quoted

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
    """

    changes: int
    inserts: int
    key_changes: int
    partial: int
    ranges: Mapping[str, tuple[Any, Any]]

    @property
    def only_inserts(self) -> bool:
        """Every key occurs once then if no change is missing: none can be inserted twice."""
        return self.inserts == self.changes


def extent(changes: DataFrame, shape: Shape) -> Extent:
    """Look at the changes, in one pass that reads the key's columns only."""
    types = {name: changes.select(image("after", name)).schema[0].dataType for name in shape.key}
    certain = [name for name in shape.key if name not in shape.nullable]
    ranged = [name for name in certain if isinstance(types[name], RANGE_TYPES)]
    bounds = []
    for name in ranged:
        sides = [image("before", name), image("after", name)]
        bounds += [sf.min(sf.least(*sides)), sf.max(sf.greatest(*sides))]
    row = changes.agg(
        sf.count("*"),
        sf.count_if(sf.col("__op") == "insert"),
        sf.count_if(key_changed(shape.key)),
        sf.count_if(is_partial()),
        *bounds,
    ).first()
    values = list(row) if row is not None else []
    found = values[4:]
    ranges = {name: (found[2 * n], found[2 * n + 1]) for n, name in enumerate(ranged)}
    return Extent(values[0], values[1], values[2], values[3], ranges)


def is_partial() -> Column:
    """Whether one of a change's images leaves something out."""
    return reduce(Column.__or__, (sf.col(name).isNotNull() for name in PARTIAL_COLUMNS))


def put(
    spark: SparkSession,
    changes: DataFrame,
    shape: Shape,
    table: str,
    *,
    complete: bool,
    app: str,
    version: int,
) -> int:
    """Apply the changes to the gold table as step `version` of `app`; how many they were.

    `complete`: none is missing. Where a DELETE may be, a key may be inserted twice.
    Raises BinlakeError for images that are not complete, which silver should not have let through.
    """
    found = extent(changes, shape)
    if found.partial and not complete:  # conf goes on past their faults: the table is marked
        changes = changes.where(~is_partial())
        found = extent(changes, shape)
    if found.partial:
        raise BinlakeError(
            f"{found.partial} changes for {table} have partial row images.",
            remedy="Silver should have held them: report it.",
        )
    if not found.changes:
        return 0
    if found.only_inserts and complete:
        folded = outcomes(changes, shape)
    else:
        folded = fold(changes, shape, key_changes=found.key_changes > 0)
    if found.inserts and _nothing_in(delta.read(spark, table), found):
        columns = [quoted(name) for name in shape.outcome_columns]
        rows = folded.where(~sf.col(DELETE)).select(*columns)
        delta.append_once(rows, table, app=app, version=version)
    else:
        _merge(spark, folded, shape, found, table, app=app, version=version)
    return found.changes


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
    limits = within(found, target.schema)
    return target.where(reduce(Column.__and__, limits, sf.lit(True))).isEmpty()


def _same(name: str, shape: Shape) -> Column:
    target, source = sf.col(f"t.{quoted(name)}"), sf.col(f"s.{quoted(name)}")
    return target.eqNullSafe(source) if name in shape.nullable else target == source


def _merge(
    spark: SparkSession,
    folded: DataFrame,
    shape: Shape,
    found: Extent,
    table: str,
    *,
    app: str,
    version: int,
) -> None:
    keys = [_same(name, shape) for name in shape.key]
    on = reduce(Column.__and__, [*keys, *within(found, folded.schema, "t.")])
    values: dict[str, str | Column] = {
        quoted(name): f"s.{quoted(name)}" for name in shape.outcome_columns
    }
    # Guards a row against older changes, whatever brought it here.
    newer = sf.col(f"s.{LSN}") >= sf.col(f"t.{LSN}")
    deleted = sf.col(f"s.{DELETE}")

    def merge(session: SparkSession) -> None:
        for key, value in MERGE_CONF.items():
            session.conf.set(key, value)
        target = delta.open_table(session, table).alias("t")
        (
            target.merge(folded.alias("s"), on)
            .whenMatchedDelete(deleted & newer)
            .whenMatchedUpdate(~deleted & newer, set=values)
            .whenNotMatchedInsert(~deleted, values=values)
            .execute()
        )

    delta.execute_once(spark, merge, table, app=app, version=version)
