"""Transactions that the lake has already, in the files of another server or under other names.

Told by GTID before a batch is planned: each segment of such a log gets the set of those in it that
were in the lake when the log began there. In its own log no server has a GTID twice. What the log
has and the lake has not goes in, once the log holds all that the lake has: before that, gold would
be a state that no server was in.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import groupby, pairwise

from pipeline.bronze.continuity import remedy
from pipeline.bronze.executed_gtids import Executed, Following, follows, log_base
from pipeline.bronze.files import FileRow
from pipeline.silver.decode.segments import Mark, Pending, SegmentRef
from pipeline.source import GtidSet
from pipeline.source.gtid_set import NO_GTIDS

Files = Mapping[int, FileRow]
"""The source's files by ordinal."""


@dataclass(frozen=True, slots=True)
class Recognised:
    """The segments that can be taken, which end where what `gaps` tell is missing.

    `behind`: what was executed behind each. `seen`: by the place of a segment, the GTIDs in it of
    transactions that were there before. `given_up`: what conf accepts, by the segment behind it.
    `more`: whether others can be taken once these are.
    """

    segments: tuple[SegmentRef, ...]
    behind: tuple[Executed, ...]
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
        """What was executed behind the last."""
        return self.behind[-1]

    def portion(self, size: int) -> Recognised:
        """The first of them that hold `size` bytes, up to where a transaction ends.

        Of another server's log, up to where it has shown all that the lake had: gold may be
        published there. What ends the others is not told before they are taken.
        """
        total = 0
        taken: tuple[SegmentRef, ...] = ()
        for number, ref in enumerate(self.segments):
            if total >= size and not ref.continues and self.behind[number - 1].is_whole:
                taken = self.segments[:number]
                break
            total += ref.end_pos - ref.start_pos
        if not taken:
            return self
        return Recognised(
            segments=taken,
            behind=self.behind[: len(taken)],
            given_up=tuple((ref, reason) for ref, reason in self.given_up if ref in taken),
            seen={ref.place: self.seen[ref.place] for ref in taken if ref.place in self.seen},
            more=True,
        )


def recognise(pending: Pending, files: Files, given_up: Collection[int] = ()) -> Recognised:
    """What of pending segments was there before."""
    taken: list[SegmentRef] = []
    behind: list[Executed] = []
    seen: dict[Mark, str] = {}
    accepted = list(pending.given_up)
    walked = zip(pending.segments, pending.before, strict=True)
    for _, log in groupby(walked, key=lambda pair: log_base(files[pair[0].ordinal])):
        stretch = _Stretch(list(log))
        told = False
        for ref, before, there in stretch.refs:
            if reason := stretch.why_waits(ref, before):
                last = _log_before(files, ref)
                if last.ordinal not in given_up:
                    gap = f"{reason} {remedy(last, files[ref.ordinal])}"
                    return Recognised(tuple(taken), tuple(behind), (gap,), tuple(accepted), seen)
                accepted += [] if told else [(ref, reason)]
                told = True
            if there:
                seen[ref.place] = str(there)
            taken.append(ref)
            behind.append(before.behind(ref.gtids))
    return Recognised(tuple(taken), tuple(behind), pending.gaps, tuple(accepted), seen)


class _Stretch:
    """Segments of one log that follow each other, with what was executed before each."""

    def __init__(self, walked: Sequence[tuple[SegmentRef, Executed]]) -> None:
        self._walked = walked
        last, before = walked[-1]
        self._shown = before.behind(last.gtids).shown

    @property
    def refs(self) -> Iterator[tuple[SegmentRef, Executed, GtidSet]]:
        """Each with those of its transactions that were there before the log began.

        One that begins in the middle of a transaction names it not: what was said of it before
        holds on.
        """
        there = NO_GTIDS
        for number, (ref, before) in enumerate(self._walked):
            inside = before.seen if not number else there
            there = (ref.gtids & before.seen) | (inside if ref.continues else NO_GTIDS)
            yield ref, before, there

    def why_waits(self, ref: SegmentRef, before: Executed) -> str | None:
        """Why a segment of another server's log cannot be taken, if it cannot."""
        if not before.seen:
            return None
        if ref.unnamed and before.unseen(before.shown):
            return (
                f"{ref.file} is of another server and, from {ref.start_pos} on, has transactions"
                " without GTIDs: nothing tells whether they are in the lake already."
            )
        new = before.seen.lacking_of_servers(ref.gtids)
        if new and (unseen := before.unseen(self._shown)):
            return (
                f"{ref.file} holds {new}, of a server that has not seen {unseen}, which is in the"
                " lake: bring the files in which it comes. Is the log another source's, or was"
                " that lost in a failover?"
            )
        return None


def _log_before(files: Files, ref: SegmentRef) -> FileRow:
    """The last file of the log before a segment's."""
    base = log_base(files[ref.ordinal])
    return files[max(ordinal for ordinal in files if ordinal <= base)]


def left_behind(files: Files, mark: Mark | None, executed: Executed) -> Iterator[str]:
    """Sentences about transactions that came to files behind which another log goes on, and that
    it has not brought yet."""
    rows = [files[ordinal] for ordinal in sorted(files)]
    if mark is None:
        return
    anew = [b.ordinal for a, b in pairwise(rows) if follows(a, b, files) is Following.ANEW]
    first = max((ordinal for ordinal in anew if ordinal <= mark[0]), default=0)
    under_way = log_base(files[mark[0]])
    for row in rows:
        if not first <= row.ordinal < mark[0] or log_base(row) == under_way:
            continue
        if late := executed.gtids.lacking(GtidSet.of(row.gtids)):
            yield (
                f"{row.file} has grown by {late} since {files[mark[0]].file}, another server's log,"
                " went on behind it: they come with that, or were lost in a failover."
            )
