"""One table's changes in a part of the log, as silver has them, without what was rolled back.

What was rolled back is rare: `facts` looks it up, and only what it names is filtered.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import pyarrow as pa
from pyspark.sql import Column, DataFrame, SparkSession, functions as sf

from pipeline import delta
from pipeline.catalog.effects import TableName
from pipeline.gold.parts import Rows
from pipeline.lake import Lake

CHANGE_COLUMNS = ("__op", "__lsn", "__pos", "__row", "__committed_at", "before", "after")
PARTIAL_COLUMNS = ("__absent_before", "__absent_after", "__json_diff")
"""Not null where an image is not complete."""

SKIPPED = pa.schema(
    [
        pa.field("lsn", pa.int64()),
        # [start, end) of events' positions
        pa.field("start", pa.int64()),
        pa.field("end", pa.int64()),
    ]
)


@dataclass(frozen=True, slots=True)
class Skipped:
    """Rows that must not be applied: events in [`start`, `end`) of the transaction at `lsn`."""

    lsn: int
    start: int
    end: int


def read_changes(
    spark: SparkSession, lake: Lake, name: TableName, rows: Rows, skip: Sequence[Skipped]
) -> DataFrame | None:
    """One table's changes in one part, or None where silver has no table of that version."""
    path = lake.changes(name.schema, name.table, rows.version)
    if not delta.exists(spark, path):
        return None
    within = delta.read(spark, path).where(_between(rows))
    return without(within, [s for s in skip if rows.start[0] <= s.lsn <= rows.stop[0]])


def _between(rows: Rows) -> Column:
    """The part's bounds: on the LSN alone where that is enough, since files are pruned by it."""
    lsn, pos = sf.col("__lsn"), sf.col("__pos")
    first, last = rows.start, rows.stop
    low = (lsn > first[0]) | ((lsn == first[0]) & (pos >= first[1])) if first[1] else None
    high = (lsn < last[0]) | ((lsn == last[0]) & (pos < last[1])) if last[1] else None
    within = (lsn >= first[0]) & (lsn <= last[0] if last[1] else lsn < last[0])
    for bound in (low, high):
        within = within if bound is None else within & bound
    return within


def without(changes: DataFrame, skip: Sequence[Skipped]) -> DataFrame:
    """The changes except those of skipped events."""
    if not skip:
        return changes
    ranges = changes.sparkSession.createDataFrame(
        pa.table(
            [[s.lsn for s in skip], [s.start for s in skip], [s.end for s in skip]], schema=SKIPPED
        )
    )
    rolled_back = (
        (sf.col("__lsn") == sf.col("lsn"))
        & (sf.col("__pos") >= sf.col("start"))
        & (sf.col("__pos") < sf.col("end"))
    )
    return changes.join(sf.broadcast(ranges), rolled_back, "left_anti")
