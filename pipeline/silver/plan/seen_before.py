"""Find transactions that the lake already has, in another server's log or under other file names.

They are identified by GTID before a batch is planned: each segment of such a log gets the set of
its GTIDs that were in the lake where that log begins. Within its own log no server repeats a GTID.
Transactions that only the new log has are applied once the log contains everything that the lake
has: before that, gold would be in a state that no server was in.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import groupby, pairwise

from pipeline.bronze.continuity import remedy
from pipeline.bronze.executed_gtids import Executed, Following, follows, log_base
from pipeline.bronze.tables import FileRow
from pipeline.silver.decode.segments import Mark, Pending, SegmentRef
from pipeline.source import GtidSet
from pipeline.source.gtid_set import NO_GTIDS

Files = Mapping[int, FileRow]
"""The source's files by ordinal."""


@dataclass(frozen=True, slots=True)
class AvailableSegments:
    """The segments that can be decoded, up to the first gap.

    `executed_after` is what was executed after each. `seen` has, by segment, the GTIDs in it that
    the lake already has. `given_up` are the gaps that conf accepts, each with the segment after it.
    `more`: further segments can be decoded after these.
    """

    segments: tuple[SegmentRef, ...]
    executed_after: tuple[Executed, ...]
    gaps: tuple[str, ...] = ()
    given_up: tuple[tuple[SegmentRef, str], ...] = ()
    seen: Mapping[Mark, str] = field(default_factory=dict)
    more: bool = False

    @property
    def start(self) -> Mark:
        """Where the first begins."""
        return self.segments[0].ordinal, self.segments[0].start_pos

    @property
    def end(self) -> Mark:
        """Where the last ends."""
        return self.segments[-1].ordinal, self.segments[-1].end_pos

    @property
    def executed(self) -> Executed:
        """The transactions executed up to the end of the last segment."""
        return self.executed_after[-1]

    def portion(self, size: int) -> AvailableSegments:
        """Return the first segments that hold `size` bytes, up to the end of a transaction.

        In another server's log, the portion ends where that log contains all that the lake had, so
        that gold can publish there. Gaps are not reported before the segments before them are
        decoded.
        """
        total = 0
        taken: tuple[SegmentRef, ...] = ()
        for number, ref in enumerate(self.segments):
            if total >= size and not ref.continues and self.executed_after[number - 1].is_whole:
                taken = self.segments[:number]
                break
            total += ref.end_pos - ref.start_pos
        if not taken:
            return self
        return AvailableSegments(
            segments=taken,
            executed_after=self.executed_after[: len(taken)],
            given_up=tuple((ref, reason) for ref, reason in self.given_up if ref in taken),
            seen={ref.place: self.seen[ref.place] for ref in taken if ref.place in self.seen},
            more=True,
        )


def available_segments(
    pending: Pending, files: Files, given_up: Collection[int] = ()
) -> AvailableSegments:
    """Return the pending segments that can be decoded, with the GTIDs that the lake already has."""
    taken: list[SegmentRef] = []
    executed_after: list[Executed] = []
    seen: dict[Mark, str] = {}
    accepted = list(pending.given_up)
    walked = zip(pending.segments, pending.before, strict=True)
    for _, log in groupby(walked, key=lambda pair: log_base(files[pair[0].ordinal])):
        run = _LogRun(list(log))
        recorded = False
        for ref, before, there in run.refs:
            if reason := run.why_waits(ref, before):
                last = _log_before(files, ref)
                if last.ordinal not in given_up:
                    gap = f"{reason} {remedy(last, files[ref.ordinal])}"
                    return AvailableSegments(
                        tuple(taken), tuple(executed_after), (gap,), tuple(accepted), seen
                    )
                accepted += [] if recorded else [(ref, reason)]
                recorded = True
            if there:
                seen[ref.place] = str(there)
            taken.append(ref)
            executed_after.append(before.after(ref.gtids))
    return AvailableSegments(
        tuple(taken), tuple(executed_after), pending.gaps, tuple(accepted), seen
    )


class _LogRun:
    """Consecutive segments of one log, with what was executed before each."""

    def __init__(self, walked: Sequence[tuple[SegmentRef, Executed]]) -> None:
        self._walked = walked
        last, before = walked[-1]
        self._shown = before.after(last.gtids).shown

    @property
    def refs(self) -> Iterator[tuple[SegmentRef, Executed, GtidSet]]:
        """Yield each segment with those of its transactions that the lake had before the log began.

        A segment that begins within a transaction does not list its GTID: the previous one's set
        applies.
        """
        there = NO_GTIDS
        for number, (ref, before) in enumerate(self._walked):
            inside = before.seen if not number else there
            there = (ref.gtids & before.seen) | (inside if ref.continues else NO_GTIDS)
            yield ref, before, there

    def why_waits(self, ref: SegmentRef, before: Executed) -> str | None:
        """Return why a segment of another server's log cannot be decoded yet, or None."""
        if not before.seen:
            return None
        if ref.unnamed and before.unseen(before.shown):
            return (
                f"{ref.file} is from another server and, from {ref.start_pos} on, has transactions"
                " without GTIDs: whether they are already in the lake cannot be determined."
            )
        new = before.seen.missing_by_server(ref.gtids)
        if new and (unseen := before.unseen(self._shown)):
            return (
                f"{ref.file} has {new}, from a server whose log lacks {unseen}, which the lake"
                " has: provide the files that contain it. Or is the log another source's, or was"
                " that lost in a failover?"
            )
        return None


def _log_before(files: Files, ref: SegmentRef) -> FileRow:
    """Return the last file of the log before a segment's."""
    base = log_base(files[ref.ordinal])
    return files[max(ordinal for ordinal in files if ordinal <= base)]


def late_transactions(files: Files, position: Mark | None, executed: Executed) -> Iterator[str]:
    """Yield sentences about transactions appended to files after the lake went on with another log.

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
                f"{row.file} has grown by {late} since the lake went on with {latest}, another"
                " server's log: they arrive with that, or were lost in a failover."
            )
