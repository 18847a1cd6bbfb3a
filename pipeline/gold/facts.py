"""What silver's transactions tell about a stretch of the log, looked up in one Spark job.

Which tables have changes, what was rolled back, what is not decided, when the last transaction was
committed, and which GTIDs there were. There may be millions of transactions, so all is put together
in Spark: GTIDs as bitmaps, of which each holds 32768.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

import numpy as np
from pyspark.sql import Column, DataFrame, Row, SparkSession, functions as sf

from pipeline import delta
from pipeline.catalog.effects import TableName
from pipeline.gold.blocks import Fault
from pipeline.gold.changes import Skipped
from pipeline.lake import Lake

UUID_GTID = r"^(.+):(\d+)$"
DOMAIN_GTID = r"^(\d+)-\d+-\d+$"
BITMAP_BITS = 32768
"""Of one bitmap of Spark's `bitmap_construct_agg`; bucket 1 begins with the number 1."""


@dataclass(frozen=True, slots=True)
class Facts:
    """About the transactions in (`low`, `high`].

    `changed`: tables (`schema.table`) with rows. `undecided`: transactions of which it is not known
    whether they were committed. `committed_at`: of the last one, in microseconds since 1970.
    `gtids`: (source id, first, last), both included; `domain_ends`: MariaDB's last GTIDs.
    """

    low: int
    high: int
    changed: frozenset[str] = frozenset()
    undecided: tuple[Fault, ...] = ()
    skipped: tuple[Skipped, ...] = ()
    committed_at: int | None = None
    gtids: tuple[tuple[str, int, int], ...] = field(default=())
    domain_ends: tuple[str, ...] = ()


def gather(spark: SparkSession, lake: Lake, source: str, low: int, high: int) -> Facts:
    """Look at silver's transactions in (`low`, `high`]."""
    if low >= high or not delta.exists(spark, lake.transactions):
        return Facts(low, high)
    rows = delta.read(spark, lake.transactions).where(sf.col("source") == source)
    return facts(rows.where((sf.col("__lsn") > low) & (sf.col("__lsn") <= high)), low, high)


def facts(transactions: DataFrame, low: int, high: int) -> Facts:
    """What these transactions tell, which are those in (`low`, `high`]."""
    groups = _groups(transactions).collect()
    last = max(groups, key=lambda group: group["last_lsn"], default=None)
    waiting = [entry for group in groups for entry in group["waiting"]]
    return Facts(
        low,
        high,
        changed=frozenset(name for group in groups for name in group["names"]),
        undecided=tuple(_undecided(transactions, waiting)),
        skipped=tuple(
            Skipped(entry["lsn"], piece["start"], piece["end"])
            for group in groups
            for entry in group["rolled_back"]
            for piece in entry["ranges"]
        ),
        committed_at=last["committed_at"] if last else None,
        gtids=tuple(
            (group["series"], first, end)
            for group in groups
            if group["numbers"] is not None
            for first, end in intervals(group["bucket"], bytes(group["numbers"]))
        ),
        domain_ends=_domain_ends(groups),
    )


def _groups(transactions: DataFrame) -> DataFrame:
    """One row for each bitmap of GTIDs, with what else its transactions tell."""
    lsn, gtid = sf.col("__lsn"), sf.col("gtid")
    number = sf.regexp_extract(gtid, UUID_GTID, 2).try_cast("bigint")
    domain = sf.regexp_extract(gtid, DOMAIN_GTID, 1)
    series = sf.when(number.isNotNull(), sf.regexp_extract(gtid, UUID_GTID, 1)).otherwise(domain)
    names = sf.map_keys("rows")
    waiting = sf.struct(lsn.alias("lsn"), "file", "start_pos", names.alias("names"))
    rolled_back = sf.struct(lsn.alias("lsn"), sf.col("rolled_back").alias("ranges"))
    return transactions.groupBy(
        series.alias("series"), sf.bitmap_bucket_number(number).alias("bucket")
    ).agg(
        sf.when(sf.max(number).isNotNull(), _bitmap(number)).alias("numbers"),
        sf.max(lsn).alias("last_lsn"),
        sf.max_by(gtid, lsn).alias("last_gtid"),
        sf.max_by(sf.unix_micros("committed_at"), lsn).alias("committed_at"),
        sf.array_distinct(sf.flatten(sf.collect_set(names))).alias("names"),
        _those(sf.col("commit_lsn").isNull(), waiting).alias("waiting"),
        _those(sf.size("rolled_back") > 0, rolled_back).alias("rolled_back"),
    )


def _bitmap(number: Column) -> Column:
    return sf.bitmap_construct_agg(sf.bitmap_bit_position(number))


def _those(condition: Column, value: Column) -> Column:
    return sf.collect_list(sf.when(condition, value))


def _undecided(transactions: DataFrame, waiting: list[Row]) -> Iterator[Fault]:
    """The waiting ones as faults, but for those that another row of theirs decides."""
    if not waiting:
        return
    lsns = [entry["lsn"] for entry in waiting]
    decided = transactions.where(sf.col("__lsn").isin(lsns) & sf.col("commit_lsn").isNotNull())
    known = {row["__lsn"] for row in decided.select("__lsn").collect()}
    for entry in waiting:
        if entry["lsn"] not in known:
            yield Fault(
                entry["lsn"],
                f"{entry['file']}, position {entry['start_pos']}: the transaction was prepared"
                " (XA), and whether it was committed is not known: that is not applied yet.",
                tuple(table_name(name) for name in entry["names"] or ()),
            )


def _domain_ends(groups: Iterable[Row]) -> tuple[str, ...]:
    return tuple(
        group["last_gtid"] for group in groups if group["series"] and group["numbers"] is None
    )


def intervals(bucket: int, bitmap: bytes) -> list[tuple[int, int]]:
    """The runs of numbers whose bits are set in one of Spark's bitmaps: (first, last)."""
    bits = np.unpackbits(np.frombuffer(bitmap, np.uint8), bitorder="little")
    edges = np.flatnonzero(np.diff(bits, prepend=0, append=0))
    base = (bucket - 1) * BITMAP_BITS + 1
    return [(base + int(a), base + int(b) - 1) for a, b in edges.reshape(-1, 2)]


def table_name(text: str) -> TableName:
    """The table that `schema.table` names (a schema with a dot in its name cannot be told)."""
    schema, _, table = text.partition(".")
    return TableName(schema, table)
