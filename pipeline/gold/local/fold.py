"""Fold few changes at the driver, in Arrow: the results are those of `change_stats` and `fold`.

For complete images, of keys that the source guarantees and that Arrow compares like Spark. For few
rows, Spark spends longer on planning than on folding.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import reduce

import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import types as st

from pipeline.gold.changes.change_stats import RANGE_TYPES, ChangeStats
from pipeline.gold.changes.changes import PARTIAL_COLUMNS
from pipeline.gold.changes.fold import DELETE, Shape
from pipeline.gold.changes.images import image_type
from pipeline.gold.table.names import COMMITTED_AT, LSN

_KEY_TYPES = (*RANGE_TYPES, st.BinaryType, st.TimestampType, st.TimestampNTZType)
"""Types whose equal values have equal bytes; not floating point, since 0.0 equals -0.0."""
ORDER = ("__lsn", "__pos", "__row")
"""The columns that order changes."""
_PLACE = "place"


@dataclass(frozen=True, slots=True)
class Folded:
    """Folded changes: gold's columns and `DELETE`, one row per key; and their statistics.

    `known`: for each row and column of the table, whether the changes contain its value; otherwise
    gold's row keeps its own. None if they contain all.
    """

    rows: pa.Table
    schema: st.StructType
    stats: ChangeStats
    known: pa.Table | None = None


def can_fold(rows: pa.Table, schema: st.StructType, shape: Shape) -> bool:
    """Return True if changes of a table with this key may be folded here."""
    whole = all(rows[name].null_count == rows.num_rows for name in PARTIAL_COLUMNS)
    return whole and can_have_key(shape, image_type(schema))


def can_have_key(shape: Shape, image: st.StructType) -> bool:
    """Return True if the table has a key that its source guarantees, and that is compared here."""
    kinds = (image[name].dataType for name in shape.key)
    return shape.unique and not shape.given and all(isinstance(kind, _KEY_TYPES) for kind in kinds)


def fold_here(rows: pa.Table, schema: st.StructType, shape: Shape) -> Folded:
    """Fold at least one change for which `can_fold` holds; `schema` is their schema in Spark."""
    image = image_type(schema)
    changes = OrderedChanges(rows, image.names)
    columns, fields = changes.outcomes(shape), folded_fields(schema, shape)
    return Folded(
        pa.table(columns, names=[field.name for field in fields]),
        st.StructType(fields),
        changes.stats(shape, image),
    )


def folded_fields(schema: st.StructType, shape: Shape) -> list[st.StructField]:
    """Return the columns of folded changes of this schema."""
    image = image_type(schema)
    own = [(LSN, schema["__lsn"]), (COMMITTED_AT, schema["__committed_at"])]
    return [
        *(st.StructField(name, image[name].dataType) for name in shape.columns),
        *(st.StructField(name, field.dataType) for name, field in own),
        st.StructField(DELETE, st.BooleanType()),
    ]


class OrderedChanges:
    """Changes in order, with access to their images' columns by name."""

    def __init__(self, rows: pa.Table, names: Sequence[str]) -> None:
        self.rows = rows.sort_by([(name, "ascending") for name in ORDER])
        self.number = {name: n for n, name in enumerate(names)}
        self.deleted = pc.equal(self.rows["__op"], "delete")
        self.inserted = pc.equal(self.rows["__op"], "insert")

    def column(self, side: str, name: str) -> pa.ChunkedArray:
        """Return a column of one of the images."""
        return pc.struct_field(self.rows[side], [self.number[name]])

    def moved(self, key: Sequence[str]) -> pa.ChunkedArray:
        """Return which changes are updates that move their row to another key."""
        same = (_same(self.column("before", name), self.column("after", name)) for name in key)
        update = pc.equal(self.rows["__op"], "update")
        return pc.and_(update, pc.invert(reduce(pc.and_, same)))

    def stats(self, shape: Shape, image: st.StructType) -> ChangeStats:
        """Return the statistics that Spark would collect."""
        ranges = {}
        for name in shape.key:
            if not isinstance(image[name].dataType, RANGE_TYPES):
                continue
            ends = [pc.min_max(self.column(side, name)) for side in ("before", "after")]
            known = [end.as_py() for pair in ends for end in pair.values() if end.is_valid]
            ranges[name] = (min(known), max(known))
        return ChangeStats(
            self.rows.num_rows,
            inserts=pc.sum(self.inserted).as_py(),
            key_changes=pc.sum(self.moved(shape.key)).as_py(),
            ranges=ranges,
        )

    def outcomes(self, shape: Shape) -> list[pa.ChunkedArray]:
        """Return the result of the last change of each key; a deleted row has only its key."""
        last = self._last_places(shape.key)
        chosen = pc.shift_right(last, 1)
        left = pc.equal(pc.bit_wise_and(last, 1), 0)
        gone = pc.or_(left, self.deleted.take(chosen))
        values = []
        for name in shape.columns:
            after = self.column("after", name).take(chosen)
            nothing = pa.scalar(None, after.type)
            kept = self.column("before", name).take(chosen) if name in shape.key else nothing
            values.append(pc.if_else(gone, kept, after))
        own = (self.rows[name].take(chosen) for name in ("__lsn", "__committed_at"))
        return [*values, *own, gone]

    def _last_places(self, key: Sequence[str]) -> pa.ChunkedArray:
        """Return twice the number of each key's last change, plus one if it ends with that key."""
        numbers = pa.array(range(self.rows.num_rows), pa.int64())
        moved = self.moved(key)
        ends = pc.shift_left(numbers, 1)
        names = [f"k{n}" for n in range(len(key))]
        arriving = [
            pc.if_else(self.deleted, self.column("before", name), self.column("after", name))
            for name in key
        ]
        leaving = [self.column("before", name).filter(moved) for name in key]
        events = pa.concat_tables(
            [
                pa.table([*arriving, pc.add(ends, 1)], names=[*names, _PLACE]),
                pa.table([*leaving, ends.filter(_whole(moved))], names=[*names, _PLACE]),
            ]
        )
        grouped = events.group_by(names, use_threads=False).aggregate([(_PLACE, "max")])
        return grouped[f"{_PLACE}_max"]


def _whole(column: pa.ChunkedArray) -> pa.Array:
    return column.combine_chunks()


def _same(before: pa.ChunkedArray, after: pa.ChunkedArray) -> pa.ChunkedArray:
    return pc.fill_null(pc.equal(before, after), False)
