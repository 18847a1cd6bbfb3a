"""Bronze's segments after silver's position, up to the first gap.

Transactions that the lake already has, in another server's log or under other file names, are
identified by GTID before a batch is planned: each segment of such a log gets the set of its GTIDs
that were in the lake where that log begins. Within its own log no server repeats a GTID.
Transactions that only the new log has are applied once the log contains everything that the lake
has: before that, gold would have a state that no server ever had.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import groupby, pairwise

from pipeline.bronze import read_files
from pipeline.bronze.continuity import gap_between, remedy
from pipeline.bronze.executed_gtids import ExecutedGtids, Following, follows, log_base
from pipeline.bronze.tables import FileRow
from pipeline.lake import Lake
from pipeline.lake.lazy_spark import Spark
from pipeline.silver.decode import segment_refs
from pipeline.silver.decode.segment_refs import FilePosition, SegmentRef
from pipeline.silver.plan.batch_plan import SilverPlan
from pipeline.source import GtidSet
from pipeline.source.gtid_set import NO_GTIDS

Files = Mapping[int, FileRow]
"""The source's files by ordinal."""


@dataclass(frozen=True, slots=True)
class AvailableSegments:
    """Segments without a gap between them, and the gaps after them, if any.

    `before`: the GTIDs executed before each segment. `given_up`: the accepted gaps, each with the
    segment after it. `seen`: by segment, the GTIDs in it that the lake already has. `more`: further
    segments can be decoded after these.
    """

    segments: tuple[SegmentRef, ...]
    before: tuple[ExecutedGtids, ...]
    gaps: tuple[str, ...] = ()
    given_up: tuple[tuple[SegmentRef, str], ...] = ()
    seen: Mapping[FilePosition, str] = field(default_factory=dict)
    more: bool = False

    @property
    def start(self) -> FilePosition:
        """The start of the first segment."""
        return self.segments[0].place

    @property
    def end(self) -> FilePosition:
        """The end of the last segment."""
        return self.segments[-1].ordinal, self.segments[-1].end_pos

    @property
    def executed(self) -> ExecutedGtids:
        """The transactions executed up to the end of the last segment."""
        return self._executed_after(-1)

    def _executed_after(self, number: int) -> ExecutedGtids:
        return self.before[number].after(self.segments[number].gtids)

    def portion(self, size: int) -> AvailableSegments:
        """Return the first segments that hold `size` bytes, up to the end of a transaction.

        In another server's log, the portion ends where that log contains everything that the lake
        had, so that gold can publish there. Gaps are not reported until the segments before them
        are decoded.
        """
        total = 0
        taken: tuple[SegmentRef, ...] = ()
        for number, ref in enumerate(self.segments):
            if total >= size and not ref.continues and self._executed_after(number - 1).is_whole:
                taken = self.segments[:number]
                break
            total += ref.size
        if not taken:
            return self
        return AvailableSegments(
            segments=taken,
            before=self.before[: len(taken)],
            given_up=tuple((ref, reason) for ref, reason in self.given_up if ref in taken),
            seen={ref.place: self.seen[ref.place] for ref in taken if ref.place in self.seen},
            more=True,
        )


def new_segments(
    spark: Spark,
    lake: Lake,
    source: str,
    before: SilverPlan | None,
    given_up: Collection[int],
) -> AvailableSegments:
    """Return bronze's segments after silver's last plan, up to the first gap, and all gaps."""
    files = {row.ordinal: row for row in read_files(spark, lake, source)}
    position = before.end if before else None
    executed = before.executed if before else ExecutedGtids()
    # A bronze batch in progress writes its files last: its segments are for the next run.
    upto = {ordinal: row.ingested_upto for ordinal, row in files.items()}
    refs = segment_refs.after(spark, lake, source, position)
    settled = [ref for ref in refs if ref.end_pos <= upto.get(ref.ordinal, 0)]
    pending = contiguous(settled, files, position, given_up, executed)
    new = available_segments(pending, files, given_up)
    return replace(new, gaps=(*new.gaps, *late_transactions(files, position, executed)))


def contiguous(
    refs: Sequence[SegmentRef],
    files: Files,
    position: FilePosition | None,
    given_up: Collection[int] = (),
    executed: ExecutedGtids | None = None,
) -> AvailableSegments:
    """Return the segments of `refs`, in order, as long as each begins where the last one ends.

    `executed` is what had been executed at `position` (None: before the source's first file).
    `given_up`: see `pipeline.bronze.continuity`.
    """
    taken: list[SegmentRef] = []
    before: list[ExecutedGtids] = []
    accepted: list[tuple[SegmentRef, str]] = []
    state = executed or ExecutedGtids()
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
    return AvailableSegments(tuple(taken), tuple(before), gaps, tuple(accepted))


def _hole(at: FilePosition | None, ref: SegmentRef) -> str | None:
    """Describe the bytes of a file that bronze lacks before a segment; None if it lacks none."""
    start = at[1] if at is not None and at[0] == ref.ordinal else 0
    if at is None or ref.start_pos == start:
        return None
    return (
        f"bronze lacks bytes {start} to {ref.start_pos} of {ref.file}. Decoding waits before"
        " them. Ingest the file again."
    )


def available_segments(
    pending: AvailableSegments, files: Files, given_up: Collection[int] = ()
) -> AvailableSegments:
    """Return the pending segments that can be decoded, with the GTIDs that the lake already has."""
    taken = 0
    seen: dict[FilePosition, str] = {}
    accepted = list(pending.given_up)
    walked = zip(pending.segments, pending.before, strict=True)
    for _, log in groupby(walked, key=lambda pair: log_base(files[pair[0].ordinal])):
        of_log = list(log)
        last, executed = of_log[-1]
        shown = executed.after(last.gtids).shown
        recorded = False
        for ref, before, there in _with_seen(of_log):
            if reason := _why_waits(ref, before, shown):
                previous = _log_before(files, ref)
                if previous.ordinal not in given_up:
                    return replace(
                        pending,
                        segments=pending.segments[:taken],
                        before=pending.before[:taken],
                        gaps=(f"{reason} {remedy(previous, files[ref.ordinal])}",),
                        given_up=tuple(accepted),
                        seen=seen,
                    )
                accepted += [] if recorded else [(ref, reason)]
                recorded = True
            if there:
                seen[ref.place] = str(there)
            taken += 1
    return replace(pending, given_up=tuple(accepted), seen=seen)


def _with_seen(
    of_log: Sequence[tuple[SegmentRef, ExecutedGtids]],
) -> Iterator[tuple[SegmentRef, ExecutedGtids, GtidSet]]:
    """Yield each segment of a log with those of its transactions that the lake had before the log
    began.

    A segment that begins within a transaction does not list its GTID: the previous one's set
    applies.
    """
    there = NO_GTIDS
    for number, (ref, before) in enumerate(of_log):
        inside = before.seen if not number else there
        there = (ref.gtids & before.seen) | (inside if ref.continues else NO_GTIDS)
        yield ref, before, there


def _why_waits(ref: SegmentRef, before: ExecutedGtids, shown: GtidSet) -> str | None:
    """Return why a segment of another server's log cannot be decoded yet, or None.

    `shown`: what that log has shown up to its last segment.
    """
    if not before.seen:
        return None
    if ref.unnamed and before.unseen(before.shown):
        return (
            f"{ref.file} is from another server and, from {ref.start_pos} on, has transactions"
            " without GTIDs. It cannot be determined whether they are already in the lake."
            " Ingest this log under another source name (--source)."
        )
    new = before.seen.missing_by_server(ref.gtids)
    if new and (unseen := before.unseen(shown)):
        return (
            f"{ref.file} has {new}, but its server's log lacks {unseen}, which the lake has."
            " Provide the files with these GTIDs. If the log belongs to another source, ingest it"
            " under another source name (--source)."
        )
    return None


def _log_before(files: Files, ref: SegmentRef) -> FileRow:
    """Return the last file of the log before a segment's."""
    base = log_base(files[ref.ordinal])
    return files[max(ordinal for ordinal in files if ordinal <= base)]


def late_transactions(
    files: Files, position: FilePosition | None, executed: ExecutedGtids
) -> Iterator[str]:
    """Yield sentences about transactions appended to a log after the lake continued with another.

    Only transactions that the other log has not contained so far are reported.
    """
    rows = [files[ordinal] for ordinal in sorted(files)]
    if position is None:
        return
    resets = [b.ordinal for a, b in pairwise(rows) if follows(a, b, files) is Following.AFTER_RESET]
    first = max((ordinal for ordinal in resets if ordinal <= position[0]), default=0)
    latest, under_way = files[position[0]].file, log_base(files[position[0]])
    for row in rows:
        if not first <= row.ordinal < position[0] or log_base(row) == under_way:
            continue
        if late := executed.gtids.lacking(GtidSet.of(row.gtids)):
            yield (
                f"{row.file} now also contains {late}, but the lake already continues with"
                f" {latest}, another server's log. They are applied when that log contains them."
                " If it never will, they were lost in the failover, and neither gold nor the new"
                " server has them."
            )
