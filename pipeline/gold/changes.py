"""Silver as gold reads it: which transactions count, and one table's changes in a part of the log.

What only a transaction's end tells stands in silver's transactions: whether it was committed, and
which of its rows were rolled back. Both are rare, so they are looked up first, and only what they
name is filtered.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import pyarrow as pa
from pyspark.sql import Column, DataFrame, SparkSession, functions as sf

from pipeline import delta
from pipeline.catalog.effects import TableName
from pipeline.gold.blocks import Fault
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


def transactions(spark: SparkSession, lake: Lake, source: str, low: int, high: int) -> DataFrame:
    """Silver's transactions with an LSN in (`low`, `high`]."""
    rows = delta.read(spark, lake.transactions).where(sf.col("source") == source)
    return rows.where((sf.col("__lsn") > low) & (sf.col("__lsn") <= high))


def changed_tables(transactions: DataFrame) -> dict[str, int]:
    """Which tables (`schema.table`) have rows in these transactions, and the last LSN with some."""
    touched = transactions.select("__lsn", sf.explode(sf.map_keys("rows")).alias("name"))
    last = touched.groupBy("name").agg(sf.max("__lsn").alias("lsn"))
    return {row["name"]: row["lsn"] for row in last.collect()}


def undecided(transactions: DataFrame) -> list[Fault]:
    """Transactions of which it is not known whether they were committed, as faults.

    One that was taken up again has several rows, of which the last knows.
    """
    # Statistics tell which files have such rows: mostly none.
    waiting = [
        row["__lsn"]
        for row in transactions.where("commit_lsn IS NULL").select("__lsn").distinct().collect()
    ]
    if not waiting:
        return []
    ends = (
        transactions.where(sf.col("__lsn").isin(waiting))
        .groupBy("__lsn")
        .agg(
            sf.max("commit_lsn").alias("commit_lsn"),
            sf.first("file").alias("file"),
            sf.min("start_pos").alias("pos"),
            sf.flatten(sf.collect_set(sf.map_keys("rows"))).alias("names"),
        )
    )
    return [
        Fault(
            row["__lsn"],
            f"{row['file']}, position {row['pos']}: the transaction was prepared (XA), and whether"
            " it was committed is not known. Such transactions are not applied yet.",
            tuple(table_name(name) for name in row["names"] or ()),
        )
        for row in ends.where("commit_lsn IS NULL").collect()
    ]


def table_name(text: str) -> TableName:
    """The table that `schema.table` names (a schema with a dot in its name cannot be told)."""
    schema, _, table = text.partition(".")
    return TableName(schema, table)


def skipped(transactions: DataFrame) -> list[Skipped]:
    """What was rolled back inside these transactions."""
    ranges = transactions.where(sf.size("rolled_back") > 0).select(
        "__lsn", sf.explode("rolled_back").alias("range")
    )
    return [
        Skipped(row["__lsn"], row["range"]["start"], row["range"]["end"])
        for row in ranges.collect()
    ]


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
