"""Origin of a log that starts over: the lake's server after RESET, or another server (a copy) with
the same file names and server id.

Both may contain transactions copied from another server, as a replica or an archive does: after
RESET on both servers, the numbers in the copied GTIDs start over as well. So the first transaction
is identified by the time of its original commit, which is logged wherever it is replicated to.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from enum import Enum

import pyarrow as pa

from decoder import schemas
from pipeline.bronze.tables import FileRow
from pipeline.lake import Lake
from pipeline.lake.delta_log.conditions import equal
from pipeline.lake.delta_log.model import LakeTable
from pipeline.lake.lazy_spark import Spark
from pipeline.lake.tables.choice import tables_of
from pipeline.source import GtidSet
from pipeline.source.logs.listing import Binlog, split_name
from pipeline.source.logs.server_logs import Log

_COMMITTED = "original_committed_at"
_LOOKED_UP = pa.schema(
    [
        pa.field("source", pa.string()),
        *(schemas.TRANSACTIONS.field(name) for name in ("gtid", "__lsn", _COMMITTED)),
    ]
)
"""The columns of `silver/transactions` that are read here."""

Committed = Callable[[str], int | None]
"""Returns a GTID's original commit time, in microseconds since 1970; None if the lake lacks it."""


class Origin(Enum):
    """The origin of a log, compared with the lake's last file."""

    OWN = "the same server's, continued or after RESET"
    OTHER = "a copy's, or another server's"
    UNKNOWN = "cannot be determined"


def origin(
    log: Log, known: Sequence[FileRow], committed: Committed, removed_until: int = 0
) -> Origin:
    """Return the log's origin by its first transaction; `known`: the lake's files, by ordinal.

    `removed_until`: silver still has all transactions that were originally committed later.
    """
    last = known[-1]
    if not (log.copied and _lacks(log, last)):
        return Origin.OWN
    first = log.files[0].head.first
    held = GtidSet.of(*(gtids for row in known for gtids in (row.previous_gtids, row.gtids)))
    if first is None or first.gtid is None or first.gtid not in held:
        return Origin.OTHER
    before = committed(first.gtid)
    if first.committed is None:
        return Origin.UNKNOWN
    if before is None:
        # A log after RESET has no earlier transactions, and the lake was already past that time.
        return Origin.OTHER if first.committed <= removed_until else Origin.UNKNOWN
    if before == first.committed:
        return Origin.OTHER
    younger = log.files[0].head.description.timestamp > last.begun
    return Origin.OWN if younger else Origin.UNKNOWN


def foreign(binlogs: Sequence[Binlog], known: Sequence[FileRow]) -> dict[str, str]:
    """Return the faults, by path, of files from a server without any transaction of the lake.

    They have the file names and the server id of the lake's log, as two servers with the same setup
    may have, but share no GTID's source with it: not even RESET changes a server's UUID.
    """
    held = GtidSet.of(*(gtids for row in known for gtids in (row.previous_gtids, row.gtids)))
    return {
        b.stored.path: _foreign(b, known)
        for b in binlogs
        if _gtids_at(b).shares_no_origin_with(held)
    }


def _gtids_at(binlog: Binlog) -> GtidSet:
    """Return the GTIDs at the beginning of a file: PREVIOUS_GTIDS and the first transaction's."""
    first = binlog.head.first
    return GtidSet.of(binlog.head.previous_gtids, first.gtid if first else None)


def _foreign(binlog: Binlog, known: Sequence[FileRow]) -> str:
    return (
        f"{binlog.stored.path} is from another server (with GTIDs {_gtids_at(binlog)}), which"
        f" shares no transaction with source {known[-1].source} of this lake: the file is skipped."
        " Ingest its files under another source name (--source), or narrow binlogs to exclude them."
    )


def unknown_origin(log: Log, known: Sequence[FileRow]) -> str:
    """Return the fault of a log whose origin is unknown."""
    first = log.files[0]
    gtid = first.head.first.gtid if first.head.first else None
    return (
        f"{first.stored.name} begins with {gtid}, which is in the lake, but it cannot be determined"
        f" whether it is the same transaction: its server (id {known[-1].server_id}) may have reset"
        " its log (RESET), or be a copy. The log is skipped. If the lake's files are not decoded"
        " yet, run again; otherwise ingest the log under another source name (--source)."
    )


def commits(spark: Spark, lake: Lake, source: str) -> Committed:
    """Return a lookup in silver's transactions; of several with the same GTID, the last counts."""
    tables = tables_of(spark, lake)
    transactions = LakeTable(lake.transactions, _LOOKED_UP)

    def committed(gtid: str) -> int | None:
        where = equal("source", source) & equal("gtid", gtid)
        found = tables.read(transactions, where, ["__lsn", _COMMITTED])
        if not len(found):
            return None
        last = found.sort_by([("__lsn", "descending")]).column(_COMMITTED)[0]
        micros: int | None = last.cast(pa.int64()).as_py()
        return micros

    return committed


def _lacks(log: Log, last: FileRow) -> bool:
    """Return True if the log's first file has no higher number than the lake's last file, or lacks
    some of its PREVIOUS_GTIDS."""
    first = log.files[0]
    seen = GtidSet.of(first.head.previous_gtids)
    starts_over = first.number <= split_name(last.file)[1]
    return starts_over or bool(seen.lacking(GtidSet.of(last.previous_gtids)))
