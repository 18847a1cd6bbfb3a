"""Statistics of a part's changes, collected in one pass before they are applied."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from functools import reduce
from typing import Any

from pyspark.sql import Column, DataFrame, functions as sf, types as st

from pipeline.gold.changes.changes import PARTIAL_COLUMNS
from pipeline.gold.changes.fold import Shape
from pipeline.gold.changes.images import LeftOut, any_of, is_left_out, is_moved, key_of
from pipeline.gold.changes.key_checks import is_inexact
from pipeline.gold.changes.small_batch import bytes_of
from pipeline.lake.sql_text import quoted

_COUNTS = 8
"""Number of fields of `ChangeStats` before its ranges."""
RANGE_TYPES = (st.IntegralType, st.DecimalType, st.DateType, st.StringType)
"""Key types whose values survive a round trip to Python and for which Delta has statistics."""


@dataclass(frozen=True, slots=True)
class ChangeStats:
    """Counts of a part's changes by kind, and the minimum and maximum of its keys.

    `ranges`: minimum and maximum over before and after images, for key columns that can be
    compared. `keyless`: LSN of the first before image that leaves out a key column; `unknown`: of
    the first change that leaves out a value that cannot be derived; `inexact`: of the first key
    with a value that stands for several. `bytes`: size of texts and binaries, if requested.
    """

    changes: int
    inserts: int = 0
    key_changes: int = 0
    partial: int = 0
    keyless: int | None = None
    unknown: int | None = None
    inexact: int | None = None
    bytes: int | None = None
    ranges: Mapping[str, tuple[Any, Any]] = field(default_factory=dict)

    @property
    def only_inserts(self) -> bool:
        """True if all changes are inserts: each key then occurs once, if no change is missing."""
        return self.inserts == self.changes


def change_stats(
    changes: DataFrame, shape: Shape, left_out: LeftOut, *, sized: bool = False
) -> ChangeStats:
    """Collect the statistics in one pass; it reads only the key's columns, unless `sized`."""
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
        first_lsn(any_of(is_left_out("before", name) for name in shape.key)),
        first_lsn(left_out.is_unknown()),
        first_lsn(is_inexact(shape, changes)),
        sf.sum(bytes_of(changes)) if sized else sf.lit(None),
        *bounds,
    ).first()
    if row is None:
        return ChangeStats(0)
    counts, found = row[:_COUNTS], row[_COUNTS:]
    ranges = {name: (found[2 * n], found[2 * n + 1]) for n, name in enumerate(ranged)}
    return replace(ChangeStats(*counts), ranges=ranges)


def first_lsn(condition: Column) -> Column:
    """Return an aggregate for the LSN of the first change that satisfies the condition."""
    return sf.min(sf.when(condition, sf.col("__lsn")))


def is_partial() -> Column:
    """Return the condition that an image of the change is partial."""
    return any_of(sf.col(name).isNotNull() for name in PARTIAL_COLUMNS)


def within(
    found: ChangeStats, schema: st.StructType, column: Callable[[str], str] = quoted
) -> list[Column]:
    """Return the conditions that a row's key is within the ranges, with literals to prune files.

    `column` returns a column's name in SQL.
    """
    conditions = []
    for name, limits in found.ranges.items():
        low, high = (sf.lit(limit).cast(schema[name].dataType) for limit in limits)
        conditions.append(sf.col(column(name)).between(low, high))
    return conditions


def all_of(conditions: Iterable[Column]) -> Column:
    """Return the conjunction of the conditions."""
    return reduce(Column.__and__, conditions, sf.lit(True))
