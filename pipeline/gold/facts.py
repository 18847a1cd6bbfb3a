"""What silver's transactions tell about a stretch of the log, looked up in one Spark job.

Which tables have changes, what was rolled back, what is not decided, when the last transaction was
committed, and which GTIDs there were. There may be millions of transactions, so all is put together
in Spark: GTIDs as bitmaps, of which each holds 32768.
"""

from __future__ import annotations

import operator
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

import numpy as np
from pyspark.sql import Column, DataFrame, Row, SparkSession, functions as sf

from pipeline import delta
from pipeline.catalog.effects import TableName
from pipeline.gold.blocks import Fault
from pipeline.gold.changes import Skipped
from pipeline.gold.xa import Prepared, pair, xa_rows
from pipeline.lake import Lake

UUID_GTID = r"^(.+):(\d+)$"
DOMAIN_GTID = r"^(\d+-\d+)-\d+$"
"""MariaDB's: its domain and server are what is numbered."""
BITMAP_BITS = 32768
"""Of one bitmap of Spark's `bitmap_construct_agg`; bucket 1 begins with the number 1."""


@dataclass(frozen=True, slots=True)
class Facts:
    """About the transactions in (`low`, `high`].

    `changed`: tables (`schema.table`) with rows behind the cut before. `undecided`: transactions of
    which it is not known whether they were committed. `prepared`: XA transactions that were
    prepared there, or before and not decided then. `last_lsn`, `committed_at`: of the last one, the
    latter in microseconds since 1970; None if there is none.
    `gtids`: (source id, first, last), both included; `server_ends`: of MariaDB's domains and
    servers the last GTIDs.
    `changes` and `bytes`: how many rows of tables they have, and what they take in the log.
    `unlogged`: tables with rows where it is not certain that all is logged that foreign keys did.
    """

    low: int
    high: int
    changed: frozenset[str] = frozenset()
    undecided: tuple[Fault, ...] = ()
    skipped: tuple[Skipped, ...] = ()
    prepared: tuple[Prepared, ...] = ()
    last_lsn: int | None = None
    committed_at: int | None = None
    gtids: tuple[tuple[str, int, int], ...] = field(default=())
    server_ends: tuple[str, ...] = ()
    changes: int = 0
    bytes: int = 0
    unlogged: frozenset[str] = frozenset()


def gather(
    spark: SparkSession,
    lake: Lake,
    source: str,
    low: int,
    high: int,
    xa_from: int = 0,
    *,
    cut_before: int = 0,
) -> Facts:
    """Look at silver's transactions in (`low`, `high`], and from `xa_from` on at XA ones.

    Tables that changed are told behind `cut_before`: one that is held may reach further back.
    """
    nothing_new = low >= high and not 0 < xa_from <= low
    if nothing_new or not delta.exists(spark, lake.transactions):
        return Facts(low, high)
    rows = with_all_columns(delta.read(spark, lake.transactions))
    # Of those that were there before nothing is applied again, and nothing is waited for.
    new = (sf.col("source") == source) & ~sf.coalesce("seen_before", sf.lit(False))
    return facts(rows.where(new), low, high, xa_from, cut_before=cut_before)


def with_all_columns(transactions: DataFrame) -> DataFrame:
    """Silver's transactions, with the columns that those written before do not have."""
    spans = "array<struct<start: bigint, end: bigint>>"
    types = {
        **dict.fromkeys(("xa", "xa_end", "cascades"), "string"),
        **dict.fromkeys(("rolled_back_rows", "cascades_logged", "cascades_logged_rows"), spans),
        "seen_before": "boolean",
    }
    known = transactions.schema.names
    added = {name: sf.lit(None).cast(kind) for name, kind in types.items() if name not in known}
    return transactions.withColumns(added) if added else transactions


def facts(
    transactions: DataFrame, low: int, high: int, xa_from: int = 0, *, cut_before: int = 0
) -> Facts:
    """What these transactions tell in (`low`, `high`], and XA ones from `xa_from` on, if set."""
    lsn = sf.col("__lsn")
    within = transactions.where((lsn > low) & (lsn <= high))
    groups = _groups(within, cut_before).collect()
    # Most logs have none: then nothing more is read.
    xa: list[Row] = []
    if 0 < xa_from <= low or any(group["has_xa"] for group in groups):
        first = min(xa_from or low + 1, low + 1)
        xa = xa_rows(transactions.where((lsn >= first) & (lsn <= high)))
    last = max(groups, key=lambda group: group["last_lsn"], default=None)
    waiting = [entry for group in groups for entry in group["waiting"]]
    rolled_back = [entry for group in groups for entry in group["rolled_back"]]
    rolled_back += [row for row in xa if row["lsn"] <= low]
    return Facts(
        low,
        high,
        changed=frozenset(name for group in groups for name in group["names"]),
        undecided=tuple(_undecided(within, waiting)),
        skipped=tuple(
            Skipped(entry["lsn"], piece["start"], piece["end"], inside)
            for entry in rolled_back
            for inside, column in zip(
                (False, True), ("rolled_back", "rolled_back_rows"), strict=True
            )
            for piece in entry[column] or ()
        ),
        prepared=tuple(pair(xa)),
        last_lsn=last["last_lsn"] if last else None,
        committed_at=last["committed_at"] if last else None,
        gtids=tuple(
            (group["series"], first, end)
            for group in groups
            if group["numbers"] is not None
            for first, end in intervals(group["bucket"], bytes(group["numbers"]))
        ),
        server_ends=_server_ends(groups),
        changes=sum(group["changes"] or 0 for group in groups),
        bytes=sum(group["bytes"] or 0 for group in groups),
        unlogged=_unlogged(groups, xa),
    )


def _groups(transactions: DataFrame, cut_before: int) -> DataFrame:
    """One row for each bitmap of GTIDs, with what else its transactions tell."""
    lsn, gtid = sf.col("__lsn"), sf.col("gtid")
    number = sf.regexp_extract(gtid, UUID_GTID, 2).try_cast("bigint")
    domain = sf.regexp_extract(gtid, DOMAIN_GTID, 1)
    series = sf.when(number.isNotNull(), sf.regexp_extract(gtid, UUID_GTID, 1)).otherwise(domain)
    names = sf.map_keys("rows")
    waiting = sf.struct(lsn.alias("lsn"), "file", "start_pos", names.alias("names"))
    unlogged = ~sf.col("cascades").eqNullSafe("logged")
    rolled_back = sf.struct(lsn.alias("lsn"), "rolled_back", "rolled_back_rows")
    return transactions.groupBy(
        series.alias("series"), sf.bitmap_bucket_number(number).alias("bucket")
    ).agg(
        sf.when(sf.max(number).isNotNull(), _bitmap(number)).alias("numbers"),
        sf.max(lsn).alias("last_lsn"),
        sf.max_by(gtid, lsn).alias("last_gtid"),
        sf.max_by(sf.unix_micros("committed_at"), lsn).alias("committed_at"),
        sf.array_distinct(sf.flatten(sf.collect_set(sf.when(lsn > cut_before, names)))).alias(
            "names"
        ),
        sf.array_distinct(sf.flatten(sf.collect_set(sf.when(unlogged, names)))).alias("unlogged"),
        _those(sf.col("commit_lsn").isNull() & sf.col("xa").isNull(), waiting).alias("waiting"),
        sf.bool_or(sf.col("xa").isNotNull()).alias("has_xa"),
        sf.sum(sf.reduce(sf.map_values("rows"), sf.lit(0).cast("bigint"), operator.add)).alias(
            "changes"
        ),
        sf.sum("bytes").alias("bytes"),
        _those(_is_partly(), rolled_back).alias("rolled_back"),
    )


def _is_partly() -> Column:
    """Whether some of a transaction's rows were rolled back."""
    return (sf.size("rolled_back") > 0) | (sf.size("rolled_back_rows") > 0)


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
                f"{entry['file']}, position {entry['start_pos']}: whether the transaction was"
                " committed is not known (a lake from before XA transactions were read has not"
                " kept their names).",
                tuple(TableName.read(name) for name in entry["names"] or ()),
            )


def _unlogged(groups: Iterable[Row], xa: Iterable[Row]) -> frozenset[str]:
    """Those of XA transactions may be decided here and prepared before: all count."""
    here = {name for group in groups for name in group["unlogged"]}
    return frozenset(here.union(*(row["names"] or () for row in xa)))


def _server_ends(groups: Iterable[Row]) -> tuple[str, ...]:
    return tuple(
        group["last_gtid"] for group in groups if group["series"] and group["numbers"] is None
    )


def intervals(bucket: int, bitmap: bytes) -> list[tuple[int, int]]:
    """The runs of numbers whose bits are set in one of Spark's bitmaps: (first, last)."""
    bits = np.unpackbits(np.frombuffer(bitmap, np.uint8), bitorder="little")
    edges = np.flatnonzero(np.diff(bits, prepend=0, append=0))
    base = (bucket - 1) * BITMAP_BITS + 1
    return [(base + int(a), base + int(b) - 1) for a, b in edges.reshape(-1, 2)]
