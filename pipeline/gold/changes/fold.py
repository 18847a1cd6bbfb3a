"""Fold changes to one row per key, to be upserted or deleted.

Pure DataFrame transformations. Input: silver's changes. Output: the table's columns, gold's own,
and `DELETE`. Keys are compared as they are stored, whatever the collation: the before image always
contains the stored key.

Of an update's before image only the key is used.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import reduce

from pyspark.sql import Column, DataFrame, Window, functions as sf

from decoder import TableDefinition
from pipeline.gold.table.names import COMMITTED_AT, LSN
from pipeline.lake.sql_text import quoted

DELETE = "__binlake_delete"
"""True if the row of this key is to be deleted."""
POSITION = "__binlake_pos"
ROW = "__binlake_row"
"""Together with the LSN, the order of changes."""


@dataclass(frozen=True, slots=True)
class Shape:
    """A table's columns in order, which of them are its key, and which of those may be NULL.

    `given`: key columns that are not part of the source's own key; `unique`: the source guarantees
    that no two rows have the same key.
    """

    columns: tuple[str, ...]
    key: tuple[str, ...]
    nullable: frozenset[str] = frozenset()
    given: frozenset[str] = frozenset()
    unique: bool = True

    @property
    def outcome_columns(self) -> tuple[str, ...]:
        """Gold's columns."""
        return (*self.columns, LSN, COMMITTED_AT)


def shape_of(definition: TableDefinition, key: Sequence[str]) -> Shape:
    """Return the shape of a definition with this key."""
    nullable = {column.name for column in definition.columns if column.nullable}
    return Shape(
        tuple(column.name for column in definition.columns),
        tuple(key),
        frozenset(nullable.intersection(key).difference(definition.key)),
        frozenset(key).difference(definition.key),
        unique=bool(definition.key) and set(definition.key) <= set(key),
    )


def fold(changes: DataFrame, shape: Shape, *, key_changes: bool = True) -> DataFrame:
    """Return one row per key, as the last change of the key leaves it.

    `key_changes=False` asserts that no update changes a key.
    """
    found = outcomes(changes, shape)
    if key_changes:
        found = found.unionByName(displaced(changes, shape), allowMissingColumns=True)
    return last_of_each_key(found, shape)


def outcomes(changes: DataFrame, shape: Shape) -> DataFrame:
    """Return, for each change, the after image or a deletion, under the key after the change.

    A deleted row keeps its key; its other columns are null.
    """
    deleted = sf.col("__op") == "delete"
    columns = [
        _after_or_key(name, deleted) if name in shape.key else image("after", name)
        for name in shape.columns
    ]
    return changes.select(*columns, *_own(deleted))


def displaced(changes: DataFrame, shape: Shape) -> DataFrame:
    """Return deletions of the old keys of updates that changed the key."""
    moved = changes.where(key_changed(shape.key))
    return moved.select(*(image("before", name) for name in shape.key), *_own(sf.lit(True)))


def last_of_each_key(found: DataFrame, shape: Shape) -> DataFrame:
    """Return the last outcome of each key, without the ordering columns."""
    order = [sf.desc(LSN), sf.desc(POSITION), sf.desc(ROW)]
    latest = Window.partitionBy(*(quoted(name) for name in shape.key)).orderBy(*order)
    age = "__binlake_age"
    ranked = found.withColumn(age, sf.row_number().over(latest)).where(sf.col(age) == 1)
    return ranked.select(*(quoted(name) for name in shape.outcome_columns), DELETE)


def key_changed(key: Sequence[str]) -> Column:
    """Return the condition that the change is an update that moves its row to another key."""
    same = (image("before", name).eqNullSafe(image("after", name)) for name in key)
    return (sf.col("__op") == "update") & ~reduce(Column.__and__, same)


def image(side: str, name: str) -> Column:
    """Return a column of the before or after image, under its own name."""
    return sf.col(side).getField(name).alias(name)


def _after_or_key(name: str, deleted: Column) -> Column:
    return sf.when(deleted, image("before", name)).otherwise(image("after", name)).alias(name)


def _own(deleted: Column) -> list[Column]:
    return [
        sf.col("__lsn").alias(LSN),
        sf.col("__committed_at").alias(COMMITTED_AT),
        sf.col("__pos").alias(POSITION),
        sf.col("__row").alias(ROW),
        deleted.alias(DELETE),
    ]
