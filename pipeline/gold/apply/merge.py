"""Apply one part's changes to a gold table, as one step.

Statistics of the changes are collected first, in one pass over the key's columns, because they
allow shortcuts: inserts alone need no folding, and if gold has no row in their key range, they are
appended without a MERGE. A table's first load uses both.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial

import pyarrow as pa
from pyspark.sql import Column, DataFrame, MergeIntoWriter, SparkSession, functions as sf

from pipeline.gold.changes.change_stats import ChangeStats, all_of, change_stats, first_lsn, within
from pipeline.gold.changes.changes import PartChanges
from pipeline.gold.changes.drift import DriftCheck
from pipeline.gold.changes.fold import DELETE, Shape, fold, outcomes, shape_of
from pipeline.gold.changes.fold_partial import MISSING, fold_partial, misfits
from pipeline.gold.changes.images import LeftOut
from pipeline.gold.changes.key_checks import first_repeated
from pipeline.gold.changes.keyless import apply_keyless, keyless_misfits
from pipeline.gold.changes.refusals import (
    key_inexact,
    key_left_out,
    key_repeated,
    refuse_unknown,
    row_left_out,
    write_computed,
    write_documents,
)
from pipeline.gold.changes.small_batch import HELD_BYTES, Few, at_driver, fit, local, session_for
from pipeline.gold.changes.steps import Rows
from pipeline.gold.local.fold import can_fold, fold_here
from pipeline.gold.local.merge import apply_without_spark
from pipeline.gold.schema.unlogged import completed, defaults_here
from pipeline.gold.table.gold_table import Write
from pipeline.gold.table.names import LSN
from pipeline.lake import delta
from pipeline.lake.delta_log.spark_written import has_none_within
from pipeline.lake.lazy_spark import started
from pipeline.lake.sql_text import quoted
from pipeline.layer import LayerRun

Take = Callable[[SparkSession], PartChanges | None]
"""Reads a part's changes in the given session; None if there are none."""


def apply_few(
    run: LayerRun,
    changes: pa.Table,
    part: Rows,
    write: Write,
    drift_check: DriftCheck | None = None,
) -> int | None:
    """Apply all of a part's changes, few and read here, as `apply_without_spark` does."""
    shape = shape_of(part.definition, part.key)
    defaults = partial(defaults_here, part, run.settings.type_options)
    return apply_without_spark(changes, shape, write, drift_check, defaults=defaults)


def apply_part(
    spark: SparkSession,
    take: Take,
    shape: Shape,
    write: Write,
    *,
    left_out: LeftOut,
    complete: bool,
    drift_check: DriftCheck | None = None,
    few: Few | None = None,
) -> int:
    """Apply the changes to the gold table as one step; return their number.

    `complete`: no change is missing; otherwise a DELETE may be, and a key be inserted twice.
    `left_out`: meaning of columns that images leave out; `drift_check`: of changes with complete
    images, before they are applied; `few`: the changes may be collected at the driver. Raise
    TableRefusedError if they cannot be applied.
    """

    def taken(session: SparkSession) -> PartChanges | None:
        found = take(session)
        if found is None:
            return None
        changes = completed(found.frame, left_out)
        if changes is found.frame:
            return found
        rows = changes.toArrow() if shape.key and found.rows is not None else None
        return PartChanges(changes, rows if rows is None or rows.nbytes <= HELD_BYTES else None)

    part = _Part(spark, shape, write, left_out, complete, drift_check)
    found = taken(started(few.session) if few and shape.key else spark)
    if found is None:
        return 0
    if not shape.key:
        return part.apply_without_key(found.frame)
    collected = part.collected(found, few)
    if not isinstance(collected, ChangeStats):
        return part.apply_collected(collected, found.frame) if collected.num_rows else 0
    # Not in the session for few changes, whose settings do not suit others.
    again = taken(spark) if few and collected.changes else found
    return 0 if again is None else part.apply_changes(again.frame, collected)


@dataclass(frozen=True, slots=True)
class _Part:
    """The target of a part's changes, and how to interpret them (see `apply_part`).

    `is_local`: the changes are local data; `small`: gold's table is small.
    """

    spark: SparkSession
    shape: Shape
    write: Write
    left_out: LeftOut
    complete: bool
    drift_check: DriftCheck | None
    is_local: bool = False
    small: bool = False

    def collected(self, taken: PartChanges, few: Few | None) -> pa.Table | ChangeStats:
        """Return the changes collected at the driver if possible, otherwise their statistics."""
        if few and taken.rows is not None:
            return taken.rows
        changes = taken.frame
        rows = at_driver(changes, few.changes) if few and few.sized else None
        if rows is not None:
            return rows
        found = change_stats(changes, self.shape, self.left_out, sized=few is not None)
        if few and found.changes and fit(changes, found.changes, found.bytes or 0):
            rows = at_driver(changes, found.changes)
        return found if rows is None else rows

    def apply_collected(self, rows: pa.Table, changes: DataFrame) -> int:
        """Apply changes collected at the driver as `rows`."""
        own = session_for(self.spark, self.write.table, changes.sparkSession)
        here = replace(self, spark=own, is_local=True, small=own is not self.spark)
        schema = changes.schema
        if not can_fold(rows, schema, self.shape):
            frame = local(own, self.spark, rows, schema)
            return here.apply_changes(frame, change_stats(frame, self.shape, self.left_out))
        folded = fold_here(rows, schema, self.shape)
        outcome = local(own, self.spark, folded.rows, folded.schema)
        return here.apply_whole(outcome, folded.stats, lambda: local(own, self.spark, rows, schema))

    def apply_changes(self, changes: DataFrame, found: ChangeStats) -> int:
        """Apply changes with these statistics to a table with a key."""
        if not found.changes:
            return 0
        shape, left_out = self.shape, self.left_out
        if found.keyless is not None:
            raise key_left_out(found.keyless, shape.key, left_out)
        if found.inexact is not None:
            raise key_inexact(found.inexact, shape.key)
        if not shape.unique:
            lsn = first_repeated(changes, shape, self.there(found), left_out)
            if lsn is not None:
                raise key_repeated(lsn, shape.key)
        if found.partial:
            self.apply_partial(changes, found)
            return found.changes
        if found.only_inserts and self.complete:
            folded = outcomes(changes, shape)
        else:
            folded = fold(changes, shape, key_changes=found.key_changes > 0)
        return self.apply_whole(folded, found, lambda: changes)

    def there(self, found: ChangeStats) -> DataFrame:
        """Return gold's rows in the range of the changes' keys."""
        gold = delta.read(self.spark, self.write.table)
        return gold.where(all_of(within(found, gold.schema)))

    def apply_whole(
        self, folded: DataFrame, found: ChangeStats, changes: Callable[[], DataFrame]
    ) -> int:
        """Apply folded changes with complete images; check `changes` for drift before, if due."""
        shape, write = self.shape, self.write
        there = self.there(found)
        is_new = False
        if found.inserts:
            none_there = has_none_within(self.spark, write.table, found.ranges)
            if none_there is None:
                # Asking Spark costs as much as a MERGE of a few rows, unless nothing is there.
                none_there = (found.only_inserts or not self.is_local) and there.isEmpty()
            is_new = none_there
        drift_check = self.drift_check
        if (
            drift_check
            and not (is_new and found.only_inserts)
            and drift_check.is_due(found.changes, small=self.small)
        ):
            drift_check.at(changes(), shape, there)
        if is_new:
            columns = [quoted(name) for name in shape.outcome_columns]
            rows = folded.where(~sf.col(DELETE)).select(*columns)
            delta.append_once(rows, write.table, write.step)
        else:
            _merge(folded, shape, found, write, materialize=not self.is_local)
        return found.changes

    def apply_partial(self, changes: DataFrame, found: ChangeStats) -> None:
        shape, left_out = self.shape, self.left_out
        if found.unknown is not None:
            refuse_unknown(changes, left_out, found.unknown)
        there = self.there(found)
        lives = found.key_changes > 0 or found.unknown is not None
        folded = fold_partial(changes, shape, there, left_out, lives=lives)

        def merge() -> None:
            write_computed(
                lambda: _merge(folded, shape, found, self.write, keeps=True), changes, left_out
            )

        write_documents(merge, lambda: misfits(changes, shape, there, left_out, lives=lives))

    def apply_without_key(self, changes: DataFrame) -> int:
        """Apply changes to a table without a key."""
        left_out = self.left_out
        incomplete = first_lsn(sf.col("__absent_before").isNotNull())
        row = changes.agg(sf.count("*"), incomplete, first_lsn(left_out.is_unknown())).first()
        count, keyless, unknown = row if row is not None else (0, None, None)
        if keyless is not None:
            raise row_left_out(keyless, left_out)
        if unknown is not None:
            refuse_unknown(changes, left_out, unknown)
        if count:
            known = left_out.known(changes)
            write_documents(
                lambda: apply_keyless(self.spark, known, self.shape, self.write, left_out),
                lambda: keyless_misfits(known, left_out),
            )
        return int(count)


def _same(there: Column, name: str, shape: Shape) -> Column:
    here = _merged(name)
    return there.eqNullSafe(here) if name in shape.nullable else there == here


def _merge(
    folded: DataFrame,
    shape: Shape,
    found: ChangeStats,
    write: Write,
    *,
    keeps: bool = False,
    materialize: bool = True,
) -> None:
    """MERGE folded changes; `keeps`: rows keep the columns named in `MISSING`."""
    there = partial(delta.target_column, write.table)
    keys = [_same(sf.col(there(name)), name, shape) for name in shape.key]
    on = all_of([*keys, *within(found, folded.schema, there)])
    values = {quoted(name): _merged(name) for name in shape.outcome_columns}
    updated, inserted = values, ~_merged(DELETE)
    if keeps:
        missing = _merged(MISSING)
        updated = {
            quoted(name): sf.when(sf.array_contains(missing, name), sf.col(there(name))).otherwise(
                _merged(name)
            )
            for name in shape.outcome_columns
        }
        inserted &= sf.size(missing) == 0
    # Protects a row from older changes, however it got here.
    newer = _merged(LSN) >= sf.col(there(LSN))
    deleted = _merged(DELETE)

    def clauses(merge: MergeIntoWriter) -> MergeIntoWriter:
        merge = merge.whenMatched(deleted & newer).delete()
        merge = merge.whenMatched(~deleted & newer).update(updated)
        return merge.whenNotMatched(inserted).insert(values)

    delta.merge_once(
        folded,
        write.table,
        write.step,
        on=on,
        clauses=clauses,
        # MERGE reads its source twice: materialize it, unless that costs more.
        conf={delta.MATERIALIZE: "all" if materialize else "none"},
    )


def _merged(name: str) -> Column:
    return sf.col(delta.merged_column(name))
