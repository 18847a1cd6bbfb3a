"""MERGE of few folded changes into small files of a gold table, without Spark.

Spark and Delta take a second or two to plan a MERGE of any size, and this takes some hundredths of
one: the files that may have the changed keys are read, and those that have are replaced by one with
their other rows and the changed ones. The rules are those of the MERGE in
`pipeline/gold/apply/merge.py`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from deltalake import DeltaTable

from pipeline.gold.changes.drift import Drift, DriftCheck
from pipeline.gold.changes.fold import DELETE, Shape
from pipeline.gold.local.drift import drift_here
from pipeline.gold.local.fold import Folded, can_fold, fold_here
from pipeline.gold.local.fold_partial import fold_partial_here
from pipeline.gold.local.keyless import apply_keyless_without_spark
from pipeline.gold.local.row_numbers import row_numbers
from pipeline.gold.local.table import SmallTable, change_without_spark, small_table, with_rows
from pipeline.gold.table.gold_table import Write
from pipeline.gold.table.names import LSN
from pipeline.lake.delta_log.model import LogEntry
from pipeline.lake.delta_log.spark_types import spark_schema
from pipeline.lake.delta_step import Step


def apply_without_spark(
    rows: pa.Table,
    shape: Shape,
    write: Write,
    drift_check: DriftCheck | None = None,
    *,
    defaults: Callable[[pa.Table], Mapping[str, pa.Scalar] | None] = lambda _: {},
) -> int | None:
    """Apply few changes to a gold table as one step; return their number, or None, with nothing
    committed, if they or the table are left to Spark.

    `drift_check`: as in `apply_part`; `defaults`: returns the known values that inserts give to
    columns they leave out, or None if an image may lack a generated column that has changed. Errors
    as in `change_without_spark`.
    """
    if not len(rows):
        return 0
    if not shape.key:
        return apply_keyless_without_spark(rows, shape, write)
    schema = spark_schema(rows.schema)
    folded: Folded | None = None
    if can_fold(rows, schema, shape):
        folded = fold_here(rows, schema, shape)
    elif (known := defaults(rows)) is not None:
        folded = fold_partial_here(rows, schema, shape, known)
    if folded is None:
        return None
    found = Drift()

    def check_drift(there: pa.Table) -> None:
        nonlocal found
        is_new = folded.stats.only_inserts and not len(there)
        if (
            drift_check
            and folded.known is None
            and not is_new
            and drift_check.is_due(len(rows), small=True)
        ):
            found = drift_here(rows, shape, there)

    if not _merge(folded, shape, write, check_drift):
        return None
    if drift_check and found.checked:
        drift_check.add(found)
    return len(rows)


def _merge(
    folded: Folded, shape: Shape, write: Write, check_drift: Callable[[pa.Table], None]
) -> bool:
    """MERGE folded changes; return False if the table is left to Spark.

    `check_drift` is called with the rows of their keys that are there before each attempt at a
    commit.
    """
    columns = [field for field in folded.schema if field.name != DELETE]

    def merge(opened: DeltaTable, folder: str, step: Step) -> bool:
        target = small_table(opened, folder, columns, folded.stats.ranges)
        files = target.files()
        there = target.joined(rows for _, rows in files)
        changes = _typed(folded.rows, target.schema)
        place = _places(*row_numbers([changes.select(shape.key), there.select(shape.key)]))
        check_drift(there.filter(pa.array(place >= 0)))
        return _Merged(target, there, changes, folded.known, place).commit(files, step)

    return change_without_spark(write, merge)


def _typed(folded: pa.Table, schema: pa.Schema) -> pa.Table:
    """Return folded changes with the table's Arrow types, which may differ in a list's field."""
    columns = [folded[field.name].cast(field.type) for field in schema]
    return pa.table([*columns, folded[DELETE]], names=[*schema.names, DELETE])


@dataclass(frozen=True, slots=True)
class _Merged:
    """The outcome of a MERGE of folded changes into the rows that are there.

    `known`: as in `Folded`; `place`: see `_places`.
    """

    target: SmallTable
    there: pa.Table
    changes: pa.Table
    known: pa.Table | None
    place: Any

    def commit(self, files: Sequence[tuple[LogEntry, pa.Table]], step: Step) -> bool:
        """Write and commit it; return False if another writer was faster."""
        hit = _hit(self.there, self.changes, self.place)
        removed, kept, changed = [], [], []
        for entry, rows, own in with_rows(files, hit):
            removed.append(entry)
            here, at = hit[own], self.place[own][hit[own]]
            kept.append(rows.filter(pa.array(~here)))
            changed.append(self._changed(rows.filter(pa.array(here)), at))
        deleted = int(hit.sum()) - sum(map(len, changed))
        return self.target.merge(removed, kept, changed, self._inserted(), deleted, step)

    def _inserted(self) -> pa.Table:
        """Return the rows of keys that are not there, if all their columns are known."""
        missed = np.ones(len(self.changes), bool)
        missed[self.place[self.place >= 0]] = False
        for column in [] if self.known is None else self.known.columns:
            missed &= np.asarray(column)
        return _upserted(self.changes.filter(pa.array(missed)))

    def _changed(self, rows: pa.Table, at: Any) -> pa.Table:
        """Return rows after their changes, which are at these places."""
        changes = self.changes.take(pa.array(at))
        if self.known is None:
            return _upserted(changes)
        for name in self.known.column_names:
            known = self.known[name].take(pa.array(at))
            value = pc.if_else(known, changes[name], rows[name])
            changes = changes.set_column(changes.column_names.index(name), name, value)
        return _upserted(changes)


def _places(changed: Any, there: Any) -> Any:
    """Return, for each row there, the place of the change with the same key; -1 if there is none.
    A key occurs in one change."""
    places = np.full(max(changed.max(initial=0), there.max(initial=0)) + 1, -1, np.int64)
    places[changed] = np.arange(len(changed))
    return places[there]


def _hit(there: pa.Table, changes: pa.Table, place: Any) -> Any:
    """Return which rows a change applies to: one of the same key that is not older."""
    hit = (place >= 0) & np.asarray(there[LSN].is_valid())
    stored, new = _numbers(there[LSN]), _numbers(changes[LSN])
    hit[hit] = new[place[hit]] >= stored[hit]
    return hit


def _numbers(column: pa.ChunkedArray) -> Any:
    return np.asarray(pc.fill_null(column, 0))


def _upserted(changes: pa.Table) -> pa.Table:
    return changes.filter(pc.invert(changes[DELETE])).drop_columns([DELETE])
