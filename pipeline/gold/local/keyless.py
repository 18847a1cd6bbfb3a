"""Few changes of a small keyless table, without Spark, by the rules of `changes/keyless.py`: a
change removes one copy of a row and adds one of another, and of a row's copies the newest go."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from deltalake import DeltaTable

from pipeline.gold.changes.changes import PARTIAL_COLUMNS
from pipeline.gold.changes.fold import Shape
from pipeline.gold.local.fold import OrderedChanges, folded_fields
from pipeline.gold.local.row_numbers import row_numbers
from pipeline.gold.local.table import SmallTable, change_without_spark, small_table, with_rows
from pipeline.gold.table.gold_table import Write
from pipeline.gold.table.names import LSN
from pipeline.lake.delta_log.model import LogEntry
from pipeline.lake.delta_log.spark_types import spark_schema
from pipeline.lake.delta_step import Step


def apply_keyless_without_spark(rows: pa.Table, shape: Shape, write: Write) -> int | None:
    """Apply at least one change as one step; return their number, or None, with nothing committed,
    if they or the table are left to Spark. Errors as in `change_without_spark`."""
    if any(rows[name].null_count < len(rows) for name in PARTIAL_COLUMNS):
        return None
    *columns, _ = folded_fields(spark_schema(rows.schema), shape)
    copies = _copies(rows, shape)

    def change(opened: DeltaTable, folder: str, step: Step) -> bool:
        reads = (copies.counts < 0).any()
        target = small_table(opened, folder, columns, {} if reads else None)
        files = target.files()
        there = target.joined(found for _, found in files)
        return copies.commit(target, files, there, step)

    return len(rows) if change_without_spark(write, change) else None


@dataclass(frozen=True, slots=True)
class _Copies:
    """Rows of which the table gets copies (`counts` is 1), or loses them (-1), latest last."""

    rows: pa.Table
    counts: Any
    columns: Sequence[str]

    def commit(
        self,
        target: SmallTable,
        files: Sequence[tuple[LogEntry, pa.Table]],
        there: pa.Table,
        step: Step,
    ) -> bool:
        """Write and commit the outcome; return False if another writer was faster."""
        moved = pa.table(
            [self.rows[field.name].cast(field.type) for field in target.schema], target.schema
        )
        tables = [table.select(self.columns) for table in (moved, there)]
        number, stored = row_numbers(tables, signed_zeros=True)
        net = np.zeros(max(number.max(), stored.max(initial=0)) + 1, np.int64)
        np.add.at(net, number, self.counts)
        latest = np.zeros_like(net)
        np.maximum.at(latest, number, np.arange(len(number)))
        inserted = moved.take(pa.array(np.repeat(latest, np.maximum(net, 0))))
        gone = _newest(stored, there[LSN], -net)
        removed, kept = [], []
        for entry, rows, own in with_rows(files, gone):
            removed.append(entry)
            kept.append(rows.filter(pa.array(~gone[own])))
        return target.merge(removed, kept, [], inserted, int(gone.sum()), step)


def _copies(changes: pa.Table, shape: Shape) -> _Copies:
    """Return the copies that changes remove and add."""
    kind = changes.schema.field("after").type
    ordered = OrderedChanges(changes, [field.name for field in kind])
    parts, counts = [], []
    for side, without, count in (("before", ordered.inserted, -1), ("after", ordered.deleted, 1)):
        values = [ordered.column(side, name) for name in shape.columns]
        own = [ordered.rows[name] for name in ("__lsn", "__committed_at")]
        rows = pa.table([*values, *own], names=shape.outcome_columns)
        parts.append(rows.filter(pc.invert(without)))
        counts.append(np.full(len(parts[-1]), count))
    rows, each = pa.concat_tables(parts), np.concatenate(counts)
    order = pc.sort_indices(rows, [(name, "ascending") for name in shape.outcome_columns[-2:]])
    return _Copies(rows.take(order), each[order], shape.columns)


def _newest(stored: Any, lsns: pa.ChunkedArray, most: Any) -> Any:
    """Return a flag for each stored row: whether it is among the newest `most` of those with its
    number."""
    # A row without an LSN is the oldest.
    order = np.lexsort((np.asarray(pc.fill_null(lsns, -1)), stored))[::-1]
    numbers = stored[order]
    first = np.searchsorted(-numbers, -numbers)
    found = np.zeros(len(stored), bool)
    found[order] = np.arange(len(numbers)) - first < most[numbers]
    return found
