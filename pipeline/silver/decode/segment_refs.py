"""Bronze's segments without their bytes, and positions in a source's log."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Any

from pipeline.bronze.tables import segments_table
from pipeline.lake import Lake
from pipeline.lake.delta_log.conditions import compare, equal
from pipeline.lake.lazy_spark import Spark
from pipeline.lake.tables.choice import tables_of
from pipeline.lake.tables.tables import FILE
from pipeline.silver.decode.decode import OFFSET_BITS
from pipeline.source import GtidSet
from pipeline.source.gtid_set import NO_GTIDS

_LOOKED_UP = (
    *("file", "ordinal", "start_pos", "end_pos", "part"),
    *("gtids", "transactions", "events", "transaction_pos"),
)
_GTIDS = ("GTID", "GTID_TAGGED", "MARIADB_GTID")

FilePosition = tuple[int, int]
"""A position in a source's log: the file's ordinal, and the byte offset in it."""


def lsn_of(position: FilePosition) -> int:
    """Return the LSN of a transaction that begins at a position."""
    return position[0] << OFFSET_BITS | position[1]


def log_number(file: str) -> int:
    """Return the number in a log's name; 0 if it has none."""
    number = file.rpartition(".")[2]
    return int(number) if number.isdigit() else 0


@dataclass(frozen=True, slots=True)
class SegmentRef:
    """A segment without its bytes: [`start_pos`, `end_pos`) of a file, in `parts` rows.

    `gtids` are those of the transactions that begin in it; `unnamed`: some have none; `continues`:
    it begins within a transaction. `stored_in` are the data files of bronze that contain it.
    `transactions` end in it (None: not counted).
    """

    file: str
    ordinal: int
    start_pos: int
    end_pos: int
    parts: int
    gtids: GtidSet = NO_GTIDS
    unnamed: bool = False
    continues: bool = False
    stored_in: tuple[str, ...] = ()
    transactions: int | None = None

    @property
    def place(self) -> FilePosition:
        """The position of its start."""
        return self.ordinal, self.start_pos

    @property
    def size(self) -> int:
        """Its number of bytes."""
        return self.end_pos - self.start_pos


def after(spark: Spark, lake: Lake, source: str, position: FilePosition | None) -> list[SegmentRef]:
    """Return the segments after a position (None: from the first file on), in order."""
    where = equal("source", source)
    if position is not None:
        ordinal, pos = position
        in_file = equal("ordinal", ordinal) & compare("start_pos", ">=", pos)
        where &= compare("ordinal", ">", ordinal) | in_file
    rows = tables_of(spark, lake).read(segments_table(lake), where, _LOOKED_UP, with_file=True)
    ordered = sorted(rows.to_pylist(), key=lambda row: (*_place(row), row["part"]))
    by_file = groupby((list(parts) for _, parts in groupby(ordered, key=_place)), key=_ordinal)
    return [ref for _, segments in by_file for ref in _of_one_file(segments)]


def _place(row: Mapping[str, Any]) -> FilePosition:
    return row["ordinal"], row["start_pos"]


def _ordinal(parts: Sequence[Mapping[str, Any]]) -> int:
    ordinal: int = parts[0]["ordinal"]
    return ordinal


def _of_one_file(segments: Iterable[Sequence[Mapping[str, Any]]]) -> Iterator[SegmentRef]:
    """Yield the segments of a file, in order; the first part of each describes the whole.

    A transaction's GTID is listed in the segment where it begins, but the transaction is counted
    where it ends: if more were counted than listed so far, some have no GTID.
    """
    left = 0
    for parts in segments:
        first = parts[0]
        known = max(left, 0)
        left += 0 if first["transactions"] is None else first["transactions"] - _named(first)
        yield SegmentRef(
            first["file"],
            first["ordinal"],
            first["start_pos"],
            max(row["end_pos"] for row in parts),
            len(parts),
            GtidSet.of(first["gtids"]),
            unnamed=left > known,
            continues=first["transaction_pos"] is not None,
            stored_in=tuple(dict.fromkeys(row[FILE] for row in parts)),
            transactions=first["transactions"],
        )


def _named(row: Mapping[str, Any]) -> int:
    """Return the number of transactions with GTIDs that begin in a segment."""
    events = dict(row["events"] or ())
    return sum(events.get(kind, 0) for kind in _GTIDS)


def between(
    spark: Spark, lake: Lake, source: str, start: FilePosition, end: FilePosition
) -> list[SegmentRef]:
    """Return the segments in [start, end), in order."""
    return [ref for ref in after(spark, lake, source, start) if ref.place < end]


def at(spark: Spark, lake: Lake, source: str, starts: Collection[FilePosition]) -> list[SegmentRef]:
    """Return the segments that begin at these positions, in order."""
    (last, last_pos) = max(starts)
    found = between(spark, lake, source, min(starts), (last, last_pos + 1))
    return [ref for ref in found if ref.place in starts]
