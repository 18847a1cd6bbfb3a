"""One table's changes in a part of the log, read from silver without rolled back ones.

Rollbacks are rare: `log_facts` finds them, and only those ranges are filtered.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass

import numpy as np
import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession, functions as sf

from pipeline.gold.changes.steps import Rows
from pipeline.gold.changes.xa import Prepared
from pipeline.lake import Lake, delta
from pipeline.lake.delta_log.conditions import Condition, compare
from pipeline.lake.delta_log.spark_types import local_frame
from pipeline.lake.delta_log.spark_written import properties
from pipeline.schema_history import TableName

CHANGE_COLUMNS = ("__op", "__lsn", "__pos", "__row", "__committed_at", "before", "after")
PARTIAL_COLUMNS = ("__absent_before", "__absent_after", "__json_diff")
"""Not null if an image is partial."""
ROW_STEPS = 1 << 31
"""If a table has changes that are not in the log, `__row` is a bigint that counts in these steps:
such changes follow a logged change of another table, and precede whatever is logged next."""

SKIPPED = pa.schema(
    [
        pa.field("lsn", pa.int64()),
        # [start, end) of event positions or, inside a payload, of row numbers
        pa.field("start", pa.int64()),
        pa.field("end", pa.int64()),
        pa.field("inside", pa.bool_()),
    ]
)
DECIDED = pa.schema(
    [
        pa.field("prepared_lsn", pa.int64()),
        pa.field("commit_lsn", pa.int64()),
        pa.field("decided_at", pa.timestamp("us", "UTC")),
    ]
)
_END = (1 << 63) - 1


@dataclass(frozen=True, slots=True)
class Skipped:
    """Rows that must not be applied: events in [`start`, `end`) of the transaction at `lsn`.

    `inside` a payload, whose events share a position, these are row numbers.
    """

    lsn: int
    start: int
    end: int
    inside: bool = False


@dataclass(frozen=True, slots=True)
class PartChanges:
    """One table's changes in one part; `rows` are the same in Arrow, if they were collected."""

    frame: DataFrame
    rows: pa.Table | None = None


def read_changes(
    spark: SparkSession,
    lake: Lake,
    name: TableName,
    rows: Rows,
    skip: Sequence[Skipped],
    prepared: Sequence[Prepared] = (),
    cascaded: pa.Table | None = None,
    here: pa.Table | None = None,
) -> PartChanges | None:
    """Return one table's changes in one part; None if silver has no table of that version.

    Changes of an XA transaction are in the part in which it is committed, with the LSN and the time
    of the commit. `cascaded`: additional changes by foreign keys (see `cascades.cascades_table`).
    `here`: the rows between the part's bounds, without skipped ones, if already read.
    """
    found = _logged(spark, lake, name, rows, skip, prepared, here)
    if cascaded is None:
        return found
    others = local_frame(spark, cascaded).where(between(rows).sql)
    if found is None:
        return PartChanges(others)
    in_steps = found.frame.withColumn("__row", sf.col("__row").cast("bigint") * ROW_STEPS)
    return PartChanges(in_steps.unionByName(others, allowMissingColumns=True))


def _logged(
    spark: SparkSession,
    lake: Lake,
    name: TableName,
    rows: Rows,
    skip: Sequence[Skipped],
    prepared: Sequence[Prepared],
    here: pa.Table | None,
) -> PartChanges | None:
    due = decided(rows, prepared)
    # Rows that are due were logged before the part.
    if here is not None and not due:
        return PartChanges(local_frame(spark, here), here)
    path = lake.changes(name.schema, name.table, rows.version)
    if properties(spark, path) is None:
        return None
    changes = delta.read(spark, path)
    if "after" not in changes.columns:
        return None  # from before a full refresh, which has not written any row to it
    found = without(changes.where(between(rows).sql), left_out_of(rows, skip, prepared))
    return PartChanges(found.unionByName(_at_their_commits(changes, due, skip)) if due else found)


def decided(rows: Rows, prepared: Sequence[Prepared]) -> list[Prepared]:
    """Return the XA transactions that are committed in a part: it has their rows."""
    return [p for p in prepared if p.committed and rows.start <= (p.end_lsn or 0, 0) < rows.stop]


def left_out_of(rows: Rows, skip: Sequence[Skipped], prepared: Sequence[Prepared]) -> list[Skipped]:
    """Return the events between a part's bounds that it does not have: those that are rolled back,
    and those of XA transactions, which are where they are committed."""
    # Including those not known to have rows of this table: with a fault, the counts in the log are
    # incomplete, and `retry` may have added the rows.
    first, last = rows.start[0], rows.stop[0]
    waiting = [Skipped(p.lsn, 0, _END) for p in prepared if first <= p.lsn <= last]
    return [*(s for s in skip if first <= s.lsn <= last), *waiting]


def _at_their_commits(
    changes: DataFrame, due: Sequence[Prepared], skip: Sequence[Skipped]
) -> DataFrame:
    """Return the changes of prepared transactions as if they were logged at their commits."""
    lsns = {p.lsn for p in due}
    within = changes.where(sf.col("__lsn").between(min(lsns), max(lsns)))
    within = without(within, [s for s in skip if s.lsn in lsns])
    decided = [
        {"prepared_lsn": p.lsn, "commit_lsn": p.end_lsn, "decided_at": p.committed_at} for p in due
    ]
    commits = local_frame(changes.sparkSession, pa.Table.from_pylist(decided, DECIDED))
    joined = within.join(sf.broadcast(commits), sf.col("__lsn") == sf.col("prepared_lsn"))
    moved = {"__lsn": sf.col("commit_lsn"), "__committed_at": sf.col("decided_at")}
    return joined.withColumns(moved).select(*changes.columns)


def between(rows: Rows) -> Condition:
    """Return the part's bounds, on the LSN alone if possible, since Delta prunes files by it."""
    first, last = rows.start, rows.stop
    found = compare("__lsn", ">=", first[0]) & compare("__lsn", "<=" if last[1] else "<", last[0])
    if first[1]:
        found &= compare("__lsn", ">", first[0]) | compare("__pos", ">=", first[1])
    if last[1]:
        found &= compare("__lsn", "<", last[0]) | compare("__pos", "<", last[1])
    return found


def without_here(changes: pa.Table, skip: Sequence[Skipped]) -> pa.Table:
    """Return the changes without those of skipped events, as `without` does."""
    if not skip:
        return changes
    lsns, places, numbers = (np.asarray(changes[n]) for n in ("__lsn", "__pos", "__row"))
    kept = np.ones(len(changes), bool)
    for one in skip:
        place = numbers if one.inside else places
        kept &= (lsns != one.lsn) | (place < one.start) | (place >= one.end)
    return changes.filter(pa.array(kept))


def without(changes: DataFrame, skip: Sequence[Skipped]) -> DataFrame:
    """Return the changes without those of skipped events."""
    if not skip:
        return changes
    found = pa.Table.from_pylist([asdict(one) for one in skip], SKIPPED)
    ranges = local_frame(changes.sparkSession, found)
    place = sf.when(sf.col("inside"), sf.col("__row")).otherwise(sf.col("__pos"))
    rolled_back = (
        (sf.col("__lsn") == sf.col("lsn")) & (place >= sf.col("start")) & (place < sf.col("end"))
    )
    return changes.join(sf.broadcast(ranges), rolled_back, "left_anti")
