"""Find bronze's next segments: those after silver's position, up to the first gap."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Any

from pipeline.bronze.continuity import gap_between, remedy
from pipeline.bronze.executed_gtids import Executed, Following, follows
from pipeline.bronze.tables import FileRow
from pipeline.bronze.tables import segments_table
from pipeline.lake import Lake
from pipeline.lake.delta_log.conditions import compare, equal
from pipeline.lake.starting import Spark
from pipeline.lake.tables.opening import tables_of
from pipeline.lake.tables.tables import FILE
from pipeline.silver.decode.decode import OFFSET_BITS
from pipeline.source import GtidSet
from pipeline.source.gtid_set import NO_GTIDS

_LOOKED_UP = (
    *("file", "ordinal", "start_pos", "end_pos", "part"),
    *("gtids", "transactions", "events", "transaction_pos"),
)
_GTIDS = ("GTID", "GTID_TAGGED", "MARIADB_GTID")

Mark = tuple[int, int]
"""A position in a source's log: the file's ordinal, and the byte offset in it."""


def lsn_of(position: Mark) -> int:
    """Return the LSN of a transaction that begins at a position."""
    return position[0] << OFFSET_BITS | position[1]


def log_number(file: str) -> int:
    """Return the number in a log's name; 0 if it has none."""
    number = file.rpartition(".")[2]
    return int(number) if number.isdigit() else 0


@dataclass(frozen=True, slots=True)
class SegmentRef:
    """A segment without its bytes: `end_pos` is where the next begins, `parts` its number of rows.

    `gtids` are those of the transactions that begin in it; `unnamed`: some have none; `continues`:
    it begins within a transaction. `stored_in` are the data files of bronze that contain it.
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

    @property
    def place(self) -> Mark:
        """Where it begins."""
        return self.ordinal, self.start_pos

    @property
    def size(self) -> int:
        """Its number of bytes."""
        return self.end_pos - self.start_pos


@dataclass(frozen=True, slots=True)
class Pending:
    """Segments without a gap between them, and the gap after them, if any.

    `given_up` are the gaps that conf accepts, each with the segment after it. `before` is what was
    executed before each of the segments.
    """

    segments: tuple[SegmentRef, ...]
    gaps: tuple[str, ...]
    given_up: tuple[tuple[SegmentRef, str], ...] = ()
    before: tuple[Executed, ...] = ()


def pending(
    spark: Spark,
    lake: Lake,
    source: str,
    files: Mapping[int, FileRow],
    position: Mark | None,
    executed: Executed,
    given_up: Collection[int] = (),
) -> Pending:
    """Return bronze's segments after `position` (None: from its first file on).

    `executed` is what had been executed there. `files` are by ordinal; `given_up`: see
    `pipeline.bronze.continuity`.
    """
    refs = _refs(spark, lake, source, position)
    # A bronze batch in progress writes its files last: its segments are for the next run.
    upto = {ordinal: row.ingested_upto for ordinal, row in files.items()}
    settled = [ref for ref in refs if ref.end_pos <= upto.get(ref.ordinal, 0)]
    return contiguous(settled, files, position, given_up, executed)


def contiguous(
    refs: Sequence[SegmentRef],
    files: Mapping[int, FileRow],
    position: Mark | None,
    given_up: Collection[int] = (),
    executed: Executed | None = None,
) -> Pending:
    """Return the segments of `refs`, in order, as long as each begins where the last one ends."""
    taken: list[SegmentRef] = []
    before: list[Executed] = []
    accepted: list[tuple[SegmentRef, str]] = []
    state = executed or Executed()
    at = position
    gaps: tuple[str, ...] = ()
    for ref in refs:
        if hole := _hole(at, ref):
            gaps = (hole,)
            break
        if at is None:
            state = state.entering(files[ref.ordinal], Following.AFTER_RESET)
        elif at[0] != ref.ordinal:
            row, following = files[at[0]], files[ref.ordinal]
            gap = gap_between(row, following, state, files)
            if gap and row.ordinal not in given_up:
                gaps = (f"{gap} {remedy(row, following)}",)
                break
            if gap:
                accepted.append((ref, gap))
            state = state.entering(following, follows(row, following, files))
        taken.append(ref)
        before.append(state)
        state = state.after(ref.gtids)
        at = ref.ordinal, ref.end_pos
    return Pending(tuple(taken), gaps, tuple(accepted), tuple(before))


def _hole(at: Mark | None, ref: SegmentRef) -> str | None:
    """Describe the bytes of a file that bronze lacks before a segment; None if it lacks none."""
    start = at[1] if at is not None and at[0] == ref.ordinal else 0
    if at is None or ref.start_pos == start:
        return None
    return (
        f"bronze lacks bytes {start} to {ref.start_pos} of {ref.file}: everything after them"
        " waits. Ingest the file again."
    )


def _refs(spark: Spark, lake: Lake, source: str, position: Mark | None) -> list[SegmentRef]:
    where = equal("source", source)
    if position is not None:
        ordinal, pos = position
        in_file = equal("ordinal", ordinal) & compare("start_pos", ">=", pos)
        where &= compare("ordinal", ">", ordinal) | in_file
    rows = tables_of(spark, lake).read(segments_table(lake), where, _LOOKED_UP, with_file=True)
    ordered = sorted(rows.to_pylist(), key=lambda row: (*_place(row), row["part"]))
    by_file = groupby((list(parts) for _, parts in groupby(ordered, key=_place)), key=_ordinal)
    return [ref for _, segments in by_file for ref in _of_one_file(segments)]


def _place(row: Mapping[str, Any]) -> Mark:
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
        )


def _named(row: Mapping[str, Any]) -> int:
    """Return the number of transactions with GTIDs that begin in a segment."""
    events = dict(row["events"] or ())
    return sum(events.get(kind, 0) for kind in _GTIDS)


def between(spark: Spark, lake: Lake, source: str, start: Mark, end: Mark) -> list[SegmentRef]:
    """Return the segments in [start, end), in order."""
    refs = _refs(spark, lake, source, start)
    return [ref for ref in refs if (ref.ordinal, ref.start_pos) < end]


def at(spark: Spark, lake: Lake, source: str, starts: Collection[Mark]) -> list[SegmentRef]:
    """Return the segments that begin at these positions, in order."""
    (last, last_pos) = max(starts)
    found = between(spark, lake, source, min(starts), (last, last_pos + 1))
    return [ref for ref in found if (ref.ordinal, ref.start_pos) in starts]
