"""Fold few changes with partial images at the driver, with the same results as in Spark.

For changes that leave out only what stays as it is in gold, and known DEFAULTs: no update moves its
row to another key or has JSON diffs, and no generated column may have changed. Then each column of
a row has the last value that a change determines, or else gold's. All others are folded by
`changes.fold_partial`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import types as st

from pipeline.gold.changes.fold import Shape
from pipeline.gold.changes.images import image_type
from pipeline.gold.local.fold import Folded, OrderedChanges, can_have_key, folded_fields
from pipeline.gold.local.row_numbers import row_numbers

_NONE = -1


def fold_partial_here(
    rows: pa.Table, schema: st.StructType, shape: Shape, defaults: Mapping[str, pa.Scalar]
) -> Folded | None:
    """Fold at least one change of a table without generated columns that images leave out; `schema`
    is their schema in Spark, `defaults` the known values that inserts give to columns they leave
    out. Return None if the changes are not of this kind."""
    image = image_type(schema)
    if rows["__json_diff"].null_count < rows.num_rows or not can_have_key(shape, image):
        return None
    found = _PartialChanges(OrderedChanges(rows, image.names), shape, defaults)
    if not found.are_complete():
        return None
    key = found.key_numbers()
    if key is None:
        return None
    columns, known = found.outcomes(key)
    fields = folded_fields(schema, shape)
    return Folded(
        pa.table(columns, names=[field.name for field in fields]),
        st.StructType(fields),
        replace(found.changes.stats(shape, image), key_changes=0),
        pa.table(known),
    )


class _PartialChanges:
    """Changes in order, and which of them lack a column in an image, by its name."""

    def __init__(
        self, changes: OrderedChanges, shape: Shape, defaults: Mapping[str, pa.Scalar]
    ) -> None:
        self.changes, self.shape = changes, shape
        # A key's range is that of its values in images.
        self.defaults = {name: value for name, value in defaults.items() if name not in shape.key}
        self.inserted, self.deleted = np.asarray(changes.inserted), np.asarray(changes.deleted)
        self.before, self.after = (
            _absent(changes.rows[f"__absent_{side}"], shape.columns) for side in ("before", "after")
        )

    def are_complete(self) -> bool:
        """Return True if inserts have or imply all columns, and all other before images the key."""
        lacking = [
            self.inserted & absent
            for name, absent in self.after.items()
            if name not in self.defaults
        ]
        lacking += [~self.inserted & self.before[name] for name in self.shape.key]
        return not any(absent.any() for absent in lacking)

    def key_numbers(self) -> Any | None:
        """Return a number for each change's key; None if an update moves its row to another key."""
        after = [self._value(name) for name in self.shape.key]
        before = [
            pc.if_else(self.changes.inserted, value, self.changes.column("before", name))
            for name, value in zip(self.shape.key, after, strict=True)
        ]
        names = list(self.shape.key)
        came, left = row_numbers([pa.table(columns, names=names) for columns in (after, before)])
        if (came != left).any():
            return None
        return np.unique(came, return_inverse=True)[1].reshape(-1)

    def outcomes(self, key: Any) -> tuple[list[pa.ChunkedArray], dict[str, Any]]:
        """Return the columns of `Folded.rows`, and those of `Folded.known`."""
        end = _last(key, np.ones(len(key), bool))
        columns, known = [], {}
        for name in self.shape.columns:
            place = end if name in self.shape.key else _last(key, self._is_known(name))
            columns.append(self._value(name).take(pa.array(place, mask=place == _NONE)))
            known[name] = place != _NONE
        own = (self.changes.rows[name].take(end) for name in ("__lsn", "__committed_at"))
        return [*columns, *own, pa.chunked_array([self.deleted[end]])], known

    def _value(self, name: str) -> pa.ChunkedArray:
        """Return a column after each change, or before it if the change leaves it or deletes."""
        before, after = (self.changes.column(side, name) for side in ("before", "after"))
        value = pc.if_else(pa.array(self.deleted | self.after[name]), before, after)
        if name not in self.defaults:
            return value
        return pc.if_else(pa.array(self.inserted & self.after[name]), self.defaults[name], value)

    def _is_known(self, name: str) -> Any:
        # Inserts that leave out other columns are not folded here.
        return ~self.deleted & (self.inserted | ~(self.after[name] & self.before[name]))


def _last(key: Any, which: Any) -> Any:
    """Return the place of each key's last change of these."""
    found = np.full(key.max() + 1, _NONE)
    np.maximum.at(found, key[which], np.flatnonzero(which))
    return found


def _absent(names: pa.ChunkedArray, columns: Sequence[str]) -> dict[str, Any]:
    """Return, for each column, which of the changes name it."""
    lists = names.combine_chunks()
    found = {name: np.zeros(len(lists), bool) for name in columns}
    places, absent = pc.list_parent_indices(lists), pc.list_flatten(lists)
    for place, name in zip(places.to_pylist(), absent.to_pylist(), strict=True):
        found[name][place] = True
    return found
