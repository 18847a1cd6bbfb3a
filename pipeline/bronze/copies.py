"""Whether a log that begins again is its server's own, or that of a copy with the server's name
and id.

A replica that keeps another server's transactions, as an archive is made of, has them copied in
either case: after RESET on both servers the numbers of its transactions begin again, too. What
tells is when the first of them was committed: that is logged with it wherever it is copied to.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from enum import Enum

import pyarrow as pa

from decoder.model.schemas import TRANSACTIONS
from pipeline.bronze.files import FileRow
from pipeline.lake import Lake
from pipeline.lake.delta_log.conditions import equal
from pipeline.lake.delta_log.table import LakeTable
from pipeline.lake.starting import Spark
from pipeline.lake.tables.opening import tables_of
from pipeline.source import GtidSet
from pipeline.source.logs.listing import Binlog, split_name
from pipeline.source.logs.server_logs import Log

_COMMITTED = "original_committed_at"
_LOOKED_UP = pa.schema(
    [
        pa.field("source", pa.string()),
        *(TRANSACTIONS.field(name) for name in ("gtid", "__lsn", _COMMITTED)),
    ]
)
"""The columns of `silver/transactions` that are read here."""

Committed = Callable[[str], int | None]
"""When a GTID's transaction was first committed, in microseconds since 1970, if the lake knows."""


class Origin(Enum):
    """Whose a log is, beside the lake's last file."""

    OWN = "the server's, which goes on or is begun anew"
    OTHER = "a copy's, or another server's"
    UNKNOWN = "not told"


def origin(log: Log, known: Sequence[FileRow], committed: Committed, gone_until: int = 0) -> Origin:
    """Decide by the log's beginning; `known` are the lake's files, in order of ordinals.

    `gone_until`: of transactions that were committed later, none has been removed from silver.
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
        # A log that is begun anew has nothing from before, and the lake was past that time.
        return Origin.OTHER if first.committed <= gone_until else Origin.UNKNOWN
    if before == first.committed:
        return Origin.OTHER
    younger = log.files[0].head.description.timestamp > last.begun
    return Origin.OWN if younger else Origin.UNKNOWN


def foreign(binlogs: Sequence[Binlog], known: Sequence[FileRow]) -> dict[str, str]:
    """What is said of files of a server that shares no transaction with the lake, by path.

    They have the name and the server id of the lake's log, as two servers may that were set up
    alike, but nothing in it tells of the other: not even RESET takes a server its UUID.
    """
    held = GtidSet.of(*(gtids for row in known for gtids in (row.previous_gtids, row.gtids)))
    return {b.stored.path: _foreign(b, known) for b in binlogs if _told_by(b).is_foreign_to(held)}


def _told_by(binlog: Binlog) -> GtidSet:
    """What a file's beginning tells of its server's transactions."""
    first = binlog.head.first
    return GtidSet.of(binlog.head.previous_gtids, first.gtid if first else None)


def _foreign(binlog: Binlog, known: Sequence[FileRow]) -> str:
    return (
        f"{binlog.stored.path} is of another server (it tells of {_told_by(binlog)}), which shares"
        f" no transaction with what {known[-1].source} has in this lake: it is left out. Give its"
        " files a source name of their own (--source), or name fewer of them: a narrower binlogs."
    )


def untold(log: Log, known: Sequence[FileRow]) -> str:
    """What is said of a log whose origin is unknown."""
    first = log.files[0]
    gtid = first.head.first.gtid if first.head.first else None
    return (
        f"{first.stored.name} begins with {gtid}, which is in the lake, and nothing tells whether"
        f" it is the same transaction: its server (id {known[-1].server_id}) may have begun its log"
        " anew (RESET), or be a copy. The log is left out. If what the lake has is not decoded yet,"
        " run again; else give the log a source name of its own (--source)."
    )


def commits(spark: Spark, lake: Lake, source: str) -> Committed:
    """Looks in what silver has decoded; of several of one GTID the last one counts."""
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
    """Whether the log begins behind less than the lake's last file does."""
    first = log.files[0]
    seen = GtidSet.of(first.head.previous_gtids)
    begins_anew = first.number <= split_name(last.file)[1]
    return begins_anew or bool(seen.lacking(GtidSet.of(last.previous_gtids)))
