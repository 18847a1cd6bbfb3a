"""What a part's changes are, looked at in one pass before they are applied."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from functools import reduce
from typing import Any

from pyspark.sql import Column, DataFrame, functions as sf, types as st

from pipeline.gold.changes.changes import PARTIAL_COLUMNS
from pipeline.gold.changes.fold import Shape
from pipeline.gold.changes.images import LeftOut, is_left_out, is_moved, key_of
from pipeline.gold.changes.keys import is_inexact
from pipeline.gold.changes.small_batch import bytes_of
from pipeline.lake.sql_text import quoted

_TOLD = 8
"""Fields of an `Extent` before its ranges."""
RANGE_TYPES = (st.IntegralType, st.DecimalType, st.DateType, st.StringType)
"""Key types whose values come to Python and back unchanged, and whose statistics Delta keeps."""


@dataclass(frozen=True, slots=True)
class Extent:
    """What a part's changes are: how many of each kind, and the least and greatest key.

    `ranges` holds both, over before and after images, for the key columns that can be compared so.
    `keyless` is the LSN of the first before image that leaves out a column of the key, `unknown`
    that of the first change that leaves out what nothing tells, `inexact` that of the first key
    with a value that stands for others. `bytes` is what texts and binaries take, where it is asked
    for.
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
        """Every key occurs once then if no change is missing: none can be inserted twice."""
        return self.inserts == self.changes


def extent(changes: DataFrame, shape: Shape, left_out: LeftOut, *, sized: bool = False) -> Extent:
    """Look at the changes, in one pass that reads the key's columns only; all if `sized`."""
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
        first_lsn(reduce(Column.__or__, (is_left_out("before", name) for name in shape.key))),
        first_lsn(left_out.is_unknown()),
        first_lsn(is_inexact(shape, changes)),
        sf.sum(bytes_of(changes)) if sized else sf.lit(None),
        *bounds,
    ).first()
    if row is None:
        return Extent(0)
    told, found = row[:_TOLD], row[_TOLD:]
    ranges = {name: (found[2 * n], found[2 * n + 1]) for n, name in enumerate(ranged)}
    return replace(Extent(*told), ranges=ranges)


def first_lsn(condition: Column) -> Column:
    """The first transaction with a change of which this holds."""
    return sf.min(sf.when(condition, sf.col("__lsn")))


def is_partial() -> Column:
    """Whether one of a change's images leaves something out."""
    return reduce(Column.__or__, (sf.col(name).isNotNull() for name in PARTIAL_COLUMNS))


def within(
    found: Extent, schema: st.StructType, column: Callable[[str], str] = quoted
) -> list[Column]:
    """That a row's key is in the ranges, as conditions with literals, which prune files.

    `column` gives a column's name in SQL.
    """
    types = {field.name: field.dataType for field in schema.fields}
    conditions = []
    for name, limits in found.ranges.items():
        low, high = (sf.lit(limit).cast(types[name]) for limit in limits)
        conditions.append(sf.col(column(name)).between(low, high))
    return conditions


def all_of(conditions: Iterable[Column]) -> Column:
    """That all of them hold."""
    return reduce(Column.__and__, conditions, sf.lit(True))
