"""Apply one part's changes to a gold table, as one step.

Statistics of the changes are collected first, in one pass over the key's columns, because they
allow shortcuts: inserts alone need no folding, and if gold has no row in their key range, they are
appended without a MERGE. A table's first load uses both.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import pyarrow as pa
from pyspark.sql import Column, DataFrame, MergeIntoWriter, SparkSession, functions as sf

from pipeline.gold.changes.bags import keyless_misfits, put_keyless
from pipeline.gold.changes.change_stats import Extent, all_of, extent, first_lsn, within
from pipeline.gold.changes.changes import Taken
from pipeline.gold.changes.drift import Look
from pipeline.gold.changes.fold import DELETE, Shape, fold, outcomes
from pipeline.gold.changes.fold_partial import MISSING, fold_partial, misfits
from pipeline.gold.changes.images import LeftOut
from pipeline.gold.changes.keys import first_repeated
from pipeline.gold.changes.local_fold import can_fold, fold_here
from pipeline.gold.changes.refusals import (
    key_inexact,
    key_left_out,
    key_repeated,
    refuse_unknown,
    row_left_out,
    write_computed,
    write_documents,
)
from pipeline.gold.changes.small_batch import Few, at_driver, fit, local, session_for
from pipeline.gold.schema.unlogged import completed
from pipeline.gold.table.gold_table import Write
from pipeline.gold.table.names import LSN
from pipeline.lake import delta
from pipeline.lake.delta_log.spark_written import has_none_within
from pipeline.lake.sql_text import quoted

Take = Callable[[SparkSession], Taken | None]
"""Reads a part's changes in the given session; None if there are none."""


def put(
    spark: SparkSession,
    take: Take,
    shape: Shape,
    write: Write,
    *,
    left_out: LeftOut,
    complete: bool,
    look: Look | None = None,
    few: Few | None = None,
) -> int:
    """Apply the changes to the gold table as one step; return their number.

    `complete`: no change is missing; otherwise a DELETE may be, and a key be inserted twice.
    `left_out`: meaning of columns that images leave out; `look`: checks changes with complete
    images for drift before they are applied; `few`: the changes may be collected at the driver.
    Raise TableRefusedError if they cannot be applied.
    """

    def taken(session: SparkSession) -> Taken | None:
        found = take(session)
        if found is None:
            return None
        changes = completed(found.frame, left_out)
        return found if changes is found.frame else Taken(changes)

    found = taken(few.looking if few and shape.key else spark)
    if found is None:
        return 0
    if not shape.key:
        return _put_keyless(spark, found.frame, shape, write, left_out)
    part = _Part(shape, write, left_out, complete, look)
    brought = _brought(found, part, few)
    if not isinstance(brought, Extent):
        return _put_here(spark, brought, found.frame, part) if brought.num_rows else 0
    # Not in the session for few changes, whose settings do not suit others.
    again = taken(spark) if few and brought.changes else found
    return 0 if again is None else _put_changes(spark, again.frame, brought, part)


@dataclass(frozen=True, slots=True)
class _Part:
    """The target of a part's changes, and how to interpret them (see `put`)."""

    shape: Shape
    write: Write
    left_out: LeftOut
    complete: bool
    look: Look | None

    def looked(
        self, changes: Callable[[], DataFrame], count: int, *, small: bool = False
    ) -> Callable[[DataFrame], None] | None:
        """Return the drift check to run on gold's rows, if due; `small`: gold's table is."""
        look = self.look
        if look is None or not look.is_due(count, small=small):
            return None
        return lambda gold: look.at(changes(), self.shape, gold)


def _brought(taken: Taken, part: _Part, few: Few | None) -> pa.Table | Extent:
    """Return the changes collected at the driver if possible, otherwise their statistics."""
    if few and taken.rows is not None:
        return taken.rows
    changes = taken.frame
    rows = at_driver(changes, few.changes) if few and few.sized else None
    if rows is not None:
        return rows
    found = extent(changes, part.shape, part.left_out, sized=few is not None)
    if few and found.changes and fit(changes, found.changes, found.bytes or 0):
        rows = at_driver(changes, found.changes)
    return found if rows is None else rows


def _put_here(spark: SparkSession, rows: pa.Table, changes: DataFrame, part: _Part) -> int:
    """Apply changes collected at the driver as `rows`."""
    own = session_for(spark, part.write.table, changes.sparkSession)
    schema = changes.schema
    small = own is not spark
    if not can_fold(rows, schema, part.shape):
        here = local(own, spark, rows, schema)
        found = extent(here, part.shape, part.left_out)
        return _put_changes(own, here, found, part, at_hand=True, small=small)
    folded = fold_here(rows, schema, part.shape)
    outcome = local(own, spark, folded.rows, folded.schema)
    seen = part.looked(lambda: local(own, spark, rows, schema), rows.num_rows, small=small)
    return _put_whole(own, outcome, folded.extent, part, seen, at_hand=True)


def _put_changes(
    spark: SparkSession,
    changes: DataFrame,
    found: Extent,
    part: _Part,
    *,
    at_hand: bool = False,
    small: bool = False,
) -> int:
    if not found.changes:
        return 0
    shape, write, left_out = part.shape, part.write, part.left_out
    _refuse_keys(found, shape, left_out)
    if not shape.unique:
        _refuse_repeated(spark, changes, shape, write, left_out, found)
    if found.partial:
        _put_partial(spark, changes, shape, write, left_out, found)
        return found.changes
    if found.only_inserts and part.complete:
        folded = outcomes(changes, shape)
    else:
        folded = fold(changes, shape, key_changes=found.key_changes > 0)
    seen = part.looked(lambda: changes, found.changes, small=small)
    return _put_whole(spark, folded, found, part, seen, at_hand=at_hand)


def _put_whole(
    spark: SparkSession,
    folded: DataFrame,
    found: Extent,
    part: _Part,
    seen: Callable[[DataFrame], None] | None,
    *,
    at_hand: bool,
) -> int:
    """Apply folded changes with complete images; `seen` is called with gold's rows before."""
    shape, write = part.shape, part.write
    gold = delta.read(spark, write.table)
    there = gold.where(all_of(within(found, gold.schema)))
    is_new = False
    if found.inserts:
        none_there = has_none_within(spark, write.table, found.ranges)
        if none_there is None:
            # This check by Spark costs as much as a MERGE of a few rows, unless nothing is there.
            none_there = (found.only_inserts or not at_hand) and there.isEmpty()
        is_new = none_there
    if seen and not (is_new and found.only_inserts):
        seen(there)
    if is_new:
        columns = [quoted(name) for name in shape.outcome_columns]
        rows = folded.where(~sf.col(DELETE)).select(*columns)
        delta.append_once(rows, write.table, app=write.app, version=write.version)
    else:
        _merge(folded, shape, found, write, materialize=not at_hand)
    return found.changes


def _refuse_keys(found: Extent, shape: Shape, left_out: LeftOut) -> None:
    if found.keyless is not None:
        raise key_left_out(found.keyless, shape.key, left_out)
    if found.inexact is not None:
        raise key_inexact(found.inexact, shape.key)


def _refuse_repeated(
    spark: SparkSession,
    changes: DataFrame,
    shape: Shape,
    write: Write,
    left_out: LeftOut,
    found: Extent,
) -> None:
    gold = delta.read(spark, write.table)
    there = gold.where(all_of(within(found, gold.schema)))
    if (lsn := first_repeated(changes, shape, there, left_out)) is not None:
        raise key_repeated(lsn, shape.key)


def _put_partial(
    spark: SparkSession,
    changes: DataFrame,
    shape: Shape,
    write: Write,
    left_out: LeftOut,
    found: Extent,
) -> None:
    if found.unknown is not None:
        refuse_unknown(changes, left_out, found.unknown)
    gold = delta.read(spark, write.table)
    there = gold.where(all_of(within(found, gold.schema)))
    lives = found.key_changes > 0 or found.unknown is not None
    folded = fold_partial(changes, shape, there, left_out, lives=lives)

    def merge() -> None:
        write_computed(lambda: _merge(folded, shape, found, write, keeps=True), changes, left_out)

    write_documents(merge, lambda: misfits(changes, shape, there, left_out, lives=lives))


def _put_keyless(
    spark: SparkSession, changes: DataFrame, shape: Shape, write: Write, left_out: LeftOut
) -> int:
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
            lambda: put_keyless(spark, known, shape, write, left_out),
            lambda: keyless_misfits(known, left_out),
        )
    return int(count)


def _same(there: Column, name: str, shape: Shape) -> Column:
    here = _merged(name)
    return there.eqNullSafe(here) if name in shape.nullable else there == here


def _merge(
    folded: DataFrame,
    shape: Shape,
    found: Extent,
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
        on=on,
        clauses=clauses,
        app=write.app,
        version=write.version,
        # MERGE reads its source twice: materialize it, unless that costs more.
        conf={delta.MATERIALIZE: "all" if materialize else "none"},
    )


def _merged(name: str) -> Column:
    return sf.col(delta.merged_column(name))
