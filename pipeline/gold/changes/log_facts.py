"""Facts about a range of the log, from silver's transactions.

Changed tables, rolled back and undecided transactions, the commit time of the last transaction, and
the GTIDs. There may be millions of transactions, so they are read slice by slice,
and GTIDs are kept as intervals.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from pipeline.gold.changes.changes import Skipped
from pipeline.gold.changes.holds import OpenFault
from pipeline.gold.changes.transactions import chosen_rows, entries, slices
from pipeline.gold.changes.xa import Prepared, pair, xa_rows
from pipeline.lake import Lake
from pipeline.lake.delta_log.conditions import compare, missing
from pipeline.lake.lazy_spark import Spark
from pipeline.schema_history import TableName

NUMBERED = r"^(?P<series>.+):(?P<number>\d+)$"
"""A MySQL GTID."""
_DOMAIN = r"^(?P<series>\d+-\d+)-\d+$"
"""A MariaDB GTID: sequence numbers count per domain and server."""
_XA_COLUMNS = ("__lsn", "xa", "xa_end", "committed_at", "rows", "rolled_back", "rolled_back_rows")
_COLUMNS = (*_XA_COLUMNS, "file", "start_pos", "gtid", "bytes", "commit_lsn", "cascades")


@dataclass(frozen=True, slots=True)
class Facts:
    """Facts about the transactions in (`low`, `high`].

    `changed`: tables (`schema.table`) with rows after the previous published snapshot. `undecided`:
    transactions of which it is unknown whether they were committed. `prepared`: XA transactions
    prepared there, or earlier and not yet decided then. `last_lsn`, `committed_at`: of the last
    transaction, the latter in microseconds since 1970; None if there is none. `gtids`: (source id,
    first, last), both inclusive; `server_ends`: the last GTID of each MariaDB domain and server.
    `changes`, `bytes`: number of row changes, and their size in the log. `unlogged`: tables with
    rows in transactions whose foreign key cascades may not be logged.
    """

    low: int
    high: int
    changed: frozenset[str] = frozenset()
    undecided: tuple[OpenFault, ...] = ()
    skipped: tuple[Skipped, ...] = ()
    prepared: tuple[Prepared, ...] = ()
    last_lsn: int | None = None
    committed_at: int | None = None
    gtids: tuple[tuple[str, int, int], ...] = ()
    server_ends: tuple[str, ...] = ()
    changes: int = 0
    bytes: int = 0
    unlogged: frozenset[str] = frozenset()


def gather(
    spark: Spark,
    lake: Lake,
    source: str,
    low: int,
    high: int,
    xa_from: int = 0,
    *,
    previous_cut_lsn: int = 0,
) -> Facts:
    """Collect facts about silver's transactions in (`low`, `high`], and XA ones from `xa_from` on.

    `changed` only counts transactions after `previous_cut_lsn`: `low` may be earlier for a held
    table.
    """
    earlier: list[dict[str, Any]] = []
    if 0 < xa_from <= low:
        known = compare("__lsn", ">=", xa_from) & compare("__lsn", "<=", min(low, high))
        prepared = chosen_rows(spark, lake, source, known & ~missing("xa"), _XA_COLUMNS)
        earlier = xa_rows(prepared)
    new = slices(spark, lake, source, low, high, _COLUMNS) if low < high else ()
    return facts(new, low, high, earlier, previous_cut_lsn=previous_cut_lsn)


def facts(
    transactions: Iterable[pa.Table],
    low: int,
    high: int,
    earlier: Sequence[Mapping[str, Any]] = (),
    *,
    previous_cut_lsn: int = 0,
) -> Facts:
    """Return the facts from slices of the transactions in (`low`, `high`] and `earlier` XA ones."""
    found, xa = Facts(low, high), [*earlier]
    server_ends: dict[str, str] = {}
    for rows in transactions:
        found = _with_slice(found, rows, previous_cut_lsn)
        xa += xa_rows(rows)
        server_ends.update(_server_ends(rows))
    return replace(
        found,
        skipped=(*found.skipped, *_skipped(earlier)),
        prepared=tuple(pair(sorted(xa, key=lambda row: row["lsn"]))),
        server_ends=tuple(server_ends.values()),
        # XA transactions may be decided here and prepared earlier, so all of them count.
        unlogged=found.unlogged.union(*(row["names"] for row in xa)),
    )


def _with_slice(found: Facts, rows: pa.Table, previous_cut_lsn: int) -> Facts:
    """Return the facts with those of the next slice, which must not be empty."""
    lsn = rows.column("__lsn")
    last_lsn = pc.max(lsn).as_py()
    at = pc.max(rows.filter(pc.equal(lsn, last_lsn)).column("committed_at"))
    logged = pc.fill_null(pc.equal(rows.column("cascades"), "logged"), False)
    changes = pc.sum(pc.struct_field(entries(rows).flatten(), "value")).as_py() or 0
    return replace(
        found,
        changed=found.changed | _tables(rows.filter(pc.greater(lsn, previous_cut_lsn))),
        undecided=(*found.undecided, *_undecided(rows)),
        skipped=(*found.skipped, *_skipped(_rolled_back(rows))),
        last_lsn=last_lsn,
        committed_at=at.cast(pa.int64()).as_py(),
        gtids=(*found.gtids, *_gtids(rows)),
        changes=found.changes + changes,
        bytes=found.bytes + (pc.sum(rows.column("bytes")).as_py() or 0),
        unlogged=found.unlogged | _tables(rows.filter(pc.invert(logged))),
    )


def _tables(rows: pa.Table) -> set[str]:
    return set(pc.unique(pc.struct_field(entries(rows).flatten(), "key")).to_pylist())


def _undecided(rows: pa.Table) -> Iterator[OpenFault]:
    """Yield faults for transactions without an end, unless another row of theirs has one."""
    ended = pc.is_valid(rows.column("commit_lsn"))
    open_ones = pc.and_(pc.invert(ended), pc.is_null(rows.column("xa")))
    waiting = rows.filter(open_ones).select(["__lsn", "file", "start_pos", "rows"]).to_pylist()
    if not waiting:
        return
    decided = set(rows.filter(ended).column("__lsn").to_pylist())
    for entry in waiting:
        if entry["__lsn"] not in decided:
            yield OpenFault(
                entry["__lsn"],
                f"{entry['file']}, position {entry['start_pos']}: it is unknown whether the"
                " transaction was committed.",
                tuple(TableName.read(name) for name, _ in entry["rows"] or ()),
            )


def _rolled_back(rows: pa.Table) -> list[dict[str, Any]]:
    """Return the transactions with rolled back rows, and the positions of these."""
    columns = ["rolled_back", "rolled_back_rows"]
    some = [
        pc.fill_null(pc.greater(pc.list_value_length(rows.column(name)), 0), False)
        for name in columns
    ]
    found = rows.filter(pc.or_(*some)).select(["__lsn", *columns])
    entries: list[dict[str, Any]] = found.rename_columns(["lsn", *columns]).to_pylist()
    return entries


def _skipped(transactions: Iterable[Mapping[str, Any]]) -> Iterator[Skipped]:
    for entry in transactions:
        for column, inside in (("rolled_back", False), ("rolled_back_rows", True)):
            for piece in entry[column] or ():
                yield Skipped(entry["lsn"], piece["start"], piece["end"], inside)


def _gtids(rows: pa.Table) -> Iterator[tuple[str, int, int]]:
    """Yield the intervals of each series: (series, first, last)."""
    parts = pc.extract_regex(rows.column("gtid").combine_chunks(), NUMBERED).drop_null()
    series, numbers = (pc.struct_field(parts, name) for name in ("series", "number"))
    numbers = numbers.cast(pa.int64())
    for name in pc.unique(series).to_pylist():
        own = numbers.filter(pc.equal(series, name))
        for first, last in intervals(np.sort(own.to_numpy())):
            yield name, first, last


def _server_ends(rows: pa.Table) -> Iterator[tuple[str, str]]:
    """Yield the last GTID of each MariaDB domain and server."""
    parts = pc.extract_regex(rows.column("gtid").combine_chunks(), _DOMAIN)
    series = pc.struct_field(parts, "series")
    for name in pc.unique(series.drop_null()).to_pylist():
        own = rows.filter(pc.equal(series, name))
        last = pc.equal(own.column("__lsn"), pc.max(own.column("__lsn")))
        yield name, own.filter(last).column("gtid")[0].as_py()


def intervals(numbers: np.typing.NDArray[np.int64]) -> list[tuple[int, int]]:
    """Return the intervals (first, last) of ascending numbers."""
    if not len(numbers):
        return []
    gaps = np.flatnonzero(np.diff(numbers) > 1)
    firsts, lasts = numbers[np.r_[0, gaps + 1]], numbers[np.r_[gaps, len(numbers) - 1]]
    return list(zip(firsts.tolist(), lasts.tolist(), strict=True))
