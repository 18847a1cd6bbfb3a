"""Which of bronze's segments are next: those after silver's mark, up to the first gap."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from pyspark.sql import DataFrame, SparkSession, functions as sf

from pipeline import delta
from pipeline.bronze.continuity import gap_between, remedy
from pipeline.bronze.files import FileRow, read_files
from pipeline.lake import Lake
from pipeline.silver.decode import SEGMENT_COLUMNS

CHUNK_BYTES = 1 << 30
TURN_BYTES = 16 << 20
"""Segments are dealt out by which stretch of this size of their file they begin in."""

Mark = tuple[int, int]
"""A place in a source's log: the file's ordinal, and the byte offset in it."""


@dataclass(frozen=True, slots=True)
class SegmentRef:
    """A segment without its bytes: `end_pos` is where the next begins, `parts` its rows."""

    file: str
    ordinal: int
    start_pos: int
    end_pos: int
    parts: int


@dataclass(frozen=True, slots=True)
class Pending:
    """Segments that follow each other without a gap, and the gap that ends them, if one does.

    `given_up`: what is missing before one of the segments, by this segment, where conf accepts it.
    """

    segments: tuple[SegmentRef, ...]
    gaps: tuple[str, ...]
    given_up: tuple[tuple[SegmentRef, str], ...] = ()

    @property
    def start(self) -> Mark:
        """Where the first begins."""
        return self.segments[0].ordinal, self.segments[0].start_pos

    @property
    def end(self) -> Mark:
        """Where the last ends."""
        return self.segments[-1].ordinal, self.segments[-1].end_pos


def pending(
    spark: SparkSession, lake: Lake, source: str, mark: Mark | None, given_up: Collection[int] = ()
) -> Pending:
    """What bronze has after `mark` (None: from its first file on).

    `given_up`: see `pipeline.bronze.continuity`.
    """
    if not delta.exists(spark, lake.segments):
        return Pending((), ())
    refs = _refs(spark, lake, source, mark)
    if not refs:
        return Pending((), ())
    files = {row.ordinal: row for row in read_files(spark, lake, source)}
    # A batch of bronze under way writes the files last: what it has brought is for the next run.
    upto = {ordinal: row.ingested_upto for ordinal, row in files.items()}
    settled = [ref for ref in refs if ref.end_pos <= upto.get(ref.ordinal, 0)]
    return contiguous(settled, files, mark, given_up)


def contiguous(
    refs: Sequence[SegmentRef],
    files: Mapping[int, FileRow],
    mark: Mark | None,
    given_up: Collection[int] = (),
) -> Pending:
    """The segments of `refs`, in order, as far as each begins where the one before ends."""
    taken: list[SegmentRef] = []
    accepted: list[tuple[SegmentRef, str]] = []
    at = mark
    for ref in refs:
        if hole := _hole(at, ref):
            return Pending(tuple(taken), (hole,), tuple(accepted))
        if at is not None and at[0] != ref.ordinal:
            row, following = files[at[0]], files[ref.ordinal]
            gap = gap_between(row, following)
            if gap and row.ordinal not in given_up:
                return Pending(tuple(taken), (f"{gap} {remedy(row, following)}",), tuple(accepted))
            if gap:
                accepted.append((ref, gap))
        taken.append(ref)
        at = ref.ordinal, ref.end_pos
    return Pending(tuple(taken), (), tuple(accepted))


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
    found = (
        rows.groupBy("ordinal", "start_pos")
        .agg(
            sf.first("file").alias("file"),
            sf.max("end_pos").alias("end"),
            sf.count("*").alias("n"),
        )
        .coalesce(1)
        .collect()
    )
    refs = (SegmentRef(r["file"], r["ordinal"], r["start_pos"], r["end"], r["n"]) for r in found)
    return sorted(refs, key=lambda ref: (ref.ordinal, ref.start_pos))


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


def chunks(refs: Iterable[SegmentRef]) -> Iterator[list[SegmentRef]]:
    """Runs of segments of about `CHUNK_BYTES` together: what one Spark job takes."""
    chunk: list[SegmentRef] = []
    size = 0
    for ref in refs:
        chunk.append(ref)
        size += ref.end_pos - ref.start_pos
        if size >= CHUNK_BYTES:
            yield chunk
            chunk, size = [], 0
    if chunk:
        yield chunk


def content(
    spark: SparkSession, lake: Lake, source: str, refs: Sequence[SegmentRef], *, spread: int
) -> DataFrame:
    """Consecutive segments with their bytes, each with its parts one after the other.

    With `spread` > 1 they are dealt out to as many tasks, in turns of a segment's size; otherwise
    they stay in the tasks that read them.
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
    if spread <= 1 and not has_parts:
        return columns
    tasks = max(spread, 1)
    turn = sf.expr(f"CAST((ordinal + start_pos DIV {TURN_BYTES}) % {tasks} AS INT)")
    dealt = columns.repartitionById(tasks, turn)
    return dealt.sortWithinPartitions("ordinal", "start_pos", "part") if has_parts else dealt
