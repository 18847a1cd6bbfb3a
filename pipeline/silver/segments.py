"""Which of bronze's segments are next: those after silver's mark, up to the first gap."""

from __future__ import annotations

import heapq
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby

from pyspark.sql import Column, DataFrame, Row, SparkSession, functions as sf

from pipeline import delta
from pipeline.bronze.continuity import gap_between, remedy
from pipeline.bronze.executed import Executed, Following, follows
from pipeline.bronze.files import FileRow
from pipeline.bronze.gtids import NO_GTIDS, GtidSet
from pipeline.lake import Lake
from pipeline.silver.decode import OFFSET_BITS, SEGMENT_COLUMNS

CHUNK_BYTES = 1 << 30
"""At least as many bytes of segments go through one Spark job."""
TASK_BYTES = 256 << 20
"""At least as many for each task of a job: some files of bronze for each core."""
TURN_BYTES = 16 << 20
"""Segments are dealt out by which stretch of this size of their file they begin in."""
UNEVEN = 1.25
"""How much longer than with equal shares tasks may work, rather than have segments dealt out: what
that costs, which is to write all of them to disk and to read them again (docs/benchmarks.md)."""

Mark = tuple[int, int]
"""A place in a source's log: the file's ordinal, and the byte offset in it."""


def lsn_of(mark: Mark) -> int:
    """The LSN of a transaction that begins there."""
    return mark[0] << OFFSET_BITS | mark[1]


@dataclass(frozen=True, slots=True)
class SegmentRef:
    """A segment without its bytes: `end_pos` is where the next begins, `parts` its rows.

    `gtids`: of the transactions that begin in it; `unnamed`: whether some have none; `continues`:
    whether it begins in the middle of one. `stored_in`: the Parquet file that has it.
    """

    file: str
    ordinal: int
    start_pos: int
    end_pos: int
    parts: int
    gtids: GtidSet = NO_GTIDS
    unnamed: bool = False
    continues: bool = False
    stored_in: str = ""

    @property
    def place(self) -> Mark:
        """Where it begins."""
        return self.ordinal, self.start_pos


@dataclass(frozen=True, slots=True)
class Pending:
    """Segments that follow each other without a gap, and the gap that ends them, if one does.

    `given_up`: what is missing before one of the segments, by this segment, where conf accepts it.
    `before`: what was executed where each of the segments begins.
    """

    segments: tuple[SegmentRef, ...]
    gaps: tuple[str, ...]
    given_up: tuple[tuple[SegmentRef, str], ...] = ()
    before: tuple[Executed, ...] = ()


def pending(
    spark: SparkSession,
    lake: Lake,
    source: str,
    files: Mapping[int, FileRow],
    mark: Mark | None,
    executed: Executed,
    given_up: Collection[int] = (),
) -> Pending:
    """What bronze has after `mark` (None: from its first file on), where `executed` holds.

    `files` by ordinal; `given_up`: see `pipeline.bronze.continuity`.
    """
    if not delta.exists(spark, lake.segments):
        return Pending((), ())
    refs = _refs(spark, lake, source, mark)
    # A batch of bronze under way writes the files last: what it has brought is for the next run.
    upto = {ordinal: row.ingested_upto for ordinal, row in files.items()}
    settled = [ref for ref in refs if ref.end_pos <= upto.get(ref.ordinal, 0)]
    return contiguous(settled, files, mark, given_up, executed)


def executed_at(
    spark: SparkSession, lake: Lake, source: str, files: Mapping[int, FileRow], mark: Mark
) -> Executed:
    """What was executed at a mark, found from bronze: for plans from before they kept it."""
    refs = [ref for ref in _refs(spark, lake, source, None) if ref.place < mark]
    found = contiguous(refs, files, None, given_up=files)
    return found.before[-1].behind(found.segments[-1].gtids) if found.segments else Executed()


def contiguous(
    refs: Sequence[SegmentRef],
    files: Mapping[int, FileRow],
    mark: Mark | None,
    given_up: Collection[int] = (),
    executed: Executed | None = None,
) -> Pending:
    """The segments of `refs`, in order, as far as each begins where the one before ends."""
    taken: list[SegmentRef] = []
    before: list[Executed] = []
    accepted: list[tuple[SegmentRef, str]] = []
    state = executed or Executed()
    at = mark
    gaps: tuple[str, ...] = ()
    for ref in refs:
        if hole := _hole(at, ref):
            gaps = (hole,)
            break
        if at is None:
            state = state.entering(files[ref.ordinal], Following.ANEW)
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
        state = state.behind(ref.gtids)
        at = ref.ordinal, ref.end_pos
    return Pending(tuple(taken), gaps, tuple(accepted), tuple(before))


def _hole(at: Mark | None, ref: SegmentRef) -> str | None:
    """What bronze lacks of a file before a segment of it, if it lacks something."""
    start = at[1] if at is not None and at[0] == ref.ordinal else 0
    if at is None or ref.start_pos == start:
        return None
    return (
        f"{ref.file} lacks bytes {start} to {ref.start_pos} in bronze: everything behind them"
        " waits. Ingest the file again."
    )


def _refs(spark: SparkSession, lake: Lake, source: str, mark: Mark | None) -> list[SegmentRef]:
    rows = delta.read(spark, lake.segments).where(sf.col("source") == source)
    if mark is not None:
        ordinal, pos = mark
        rows = rows.where(f"ordinal > {ordinal} OR (ordinal = {ordinal} AND start_pos >= {pos})")
    # Part 0 tells of the whole segment.
    whole = sf.col("part") == 0
    found = (
        rows.groupBy("ordinal", "start_pos")
        .agg(
            sf.first("file").alias("file"),
            sf.max("end_pos").alias("end"),
            sf.count("*").alias("n"),
            sf.max(sf.when(whole, sf.col("gtids"))).alias("gtids"),
            sf.max(sf.when(whole, sf.col("transactions") - _named())).alias("unnamed"),
            sf.max("transaction_pos").alias("inside"),
            sf.max("_metadata.file_name").alias("stored_in"),
        )
        .coalesce(1)
        .collect()
    )
    ordered = sorted(found, key=lambda row: (row["ordinal"], row["start_pos"]))
    by_file = groupby(ordered, key=lambda row: row["ordinal"])
    return [ref for _, rows_of_one in by_file for ref in _of_one_file(rows_of_one)]


def _named() -> Column:
    """How many transactions that begin in a segment have GTIDs."""
    kinds = ("GTID", "GTID_TAGGED", "MARIADB_GTID")
    counts = [sf.coalesce(sf.element_at("events", sf.lit(kind)), sf.lit(0)) for kind in kinds]
    return counts[0] + counts[1] + counts[2]


def _of_one_file(rows: Iterable[Row]) -> Iterator[SegmentRef]:
    """The segments of a file, in order. A transaction is named where it begins and counted where it
    ends: more were counted than named up to there where some have no name."""
    left = 0
    for row in rows:
        known = max(left, 0)
        left += row["unnamed"] or 0
        yield SegmentRef(
            row["file"],
            row["ordinal"],
            row["start_pos"],
            row["end"],
            row["n"],
            GtidSet.of(row["gtids"]),
            unnamed=left > known,
            continues=row["inside"] is not None,
            stored_in=row["stored_in"],
        )


def between(
    spark: SparkSession, lake: Lake, source: str, start: Mark, end: Mark
) -> list[SegmentRef]:
    """The segments in [start, end), in order."""
    refs = _refs(spark, lake, source, start)
    return [ref for ref in refs if (ref.ordinal, ref.start_pos) < end]


def at(spark: SparkSession, lake: Lake, source: str, starts: Collection[Mark]) -> list[SegmentRef]:
    """The segments that begin at these places, in order."""
    (last, last_pos) = max(starts)
    found = between(spark, lake, source, min(starts), (last, last_pos + 1))
    return [ref for ref in found if (ref.ordinal, ref.start_pos) in starts]


def chunks(refs: Iterable[SegmentRef], tasks: int) -> Iterator[list[SegmentRef]]:
    """Runs of segments, enough together for one Spark job of so many tasks."""
    most = max(CHUNK_BYTES, tasks * TASK_BYTES)
    chunk: list[SegmentRef] = []
    size = 0
    for ref in refs:
        chunk.append(ref)
        size += ref.end_pos - ref.start_pos
        if size >= most:
            yield chunk
            chunk, size = [], 0
    if chunk:
        yield chunk


def content(
    spark: SparkSession, lake: Lake, source: str, refs: Sequence[SegmentRef], *, spread: int
) -> DataFrame:
    """Consecutive segments with their bytes, each with its parts one after the other.

    They stay in the tasks that read them, unless these are too few or too unequal for half of
    `spread` at once (which is two for each core): then they are dealt out to so many, in turns of a
    segment's size.
    """
    first, last = refs[0], refs[-1]
    rows = delta.read(spark, lake.segments).where(sf.col("source") == source)
    rows = rows.where(f"ordinal BETWEEN {first.ordinal} AND {last.ordinal}").where(
        f"(ordinal > {first.ordinal} OR start_pos >= {first.start_pos})"
        f" AND (ordinal < {last.ordinal} OR start_pos <= {last.start_pos})"
    )
    # The end that a crashed server never finished belongs to the file, and to no transaction.
    columns = rows.where("NOT coalesce(incomplete, false)").select(*SEGMENT_COLUMNS)
    has_parts = any(ref.parts > 1 for ref in refs)
    if not has_parts and are_even(refs, (spread + 1) // 2):
        return columns
    turn = sf.expr(f"CAST((ordinal + start_pos DIV {TURN_BYTES}) % {spread} AS INT)")
    dealt = columns.repartitionById(spread, turn)
    return dealt.sortWithinPartitions("ordinal", "start_pos", "part") if has_parts else dealt


def are_even(refs: Sequence[SegmentRef], cores: int) -> bool:
    """Whether cores that take the next file each time they are done have about equal shares."""
    sizes: Counter[str] = Counter()
    for ref in refs:
        sizes[ref.stored_in] += ref.end_pos - ref.start_pos
    shares = [0] * cores
    for size in sorted(sizes.values(), reverse=True):
        heapq.heapreplace(shares, shares[0] + size)
    return max(shares) * cores <= UNEVEN * sizes.total()
