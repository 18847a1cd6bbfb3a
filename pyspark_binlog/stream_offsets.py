"""Positions of a stream in its log, and where a micro-batch ends."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import islice
from typing import Any

import numpy as np
from pyspark.sql.streaming.datasource import ReadLimit, ReadMaxBytes, ReadMaxFiles

from pipeline.errors import BinlakeError
from pipeline.source.logs import is_only_begun
from pyspark_binlog.log_survey import UNLIMITED, SurveyedFile, XaStep
from pyspark_binlog.xa_outcomes import XaOutcomes

StreamPosition = tuple[int, int]
"""A file's number, and a position in it between two transactions."""
START: StreamPosition = (0, 0)
_REMEDY = (
    "Put the missing files back, or start the stream with a new checkpoint; the unread rows of the"
    " lost files must then be read again from the server."
)


class LostLogError(BinlakeError):
    """A log that no longer has a file from which a stream has to continue."""


@dataclass(frozen=True)
class StreamOffset:
    """A position of a stream: all rows before `place` have been returned.

    `prepared`: the XA transactions before it whose rows have not; by xid, the number of the file,
    and the transaction's start and end in it. `incarnation`: that of the file of `place` (see
    `decoder`'s `Head`), empty if there was none, or not all of its first events.
    """

    place: StreamPosition = START
    prepared: Mapping[str, tuple[int, int, int]] = field(default_factory=dict)
    incarnation: str = ""

    def to_dict(self) -> dict[str, Any]:
        """Return the form in the query's checkpoint."""
        file, position = self.place
        return {
            "file": file,
            "position": position,
            "prepared": {xid: list(place) for xid, place in self.prepared.items()},
            "incarnation": self.incarnation,
        }

    @classmethod
    def from_dict(cls, fields: Mapping[str, Any]) -> StreamOffset:
        """Return the offset that `to_dict` returned."""
        prepared = {xid: (int(n), int(s), int(e)) for xid, (n, s, e) in fields["prepared"].items()}
        place = int(fields["file"]), int(fields["position"])
        return cls(place, prepared, str(fields["incarnation"]))

    def after(self, files: Sequence[SurveyedFile], place: StreamPosition) -> StreamOffset:
        """Return the offset at a later place."""
        prepared = dict(self.prepared)
        for step in steps_between(files, self.place, place):
            prepared.pop(step.xid, None)
            if step.kind == "prepare":
                prepared[step.xid] = (step.ordinal, *step.range)
        at = [file.binlog for file in files if file.ordinal == place[0]]
        known = [binlog.head.incarnation for binlog in at if not is_only_begun(binlog)]
        return StreamOffset(place, prepared, known[0] if known else "")

    def require_log(self, files: Sequence[SurveyedFile]) -> None:
        """Raise LostLogError if these files are not those that the stream was reading."""
        number, position = self.place
        if self.place == START or not files:
            return
        here = next((file for file in files if file.ordinal == number), None)
        if here is None:
            is_next = position == 0 and files[-1].ordinal == number - 1
            if not is_next:
                reason = f"the log has no file number {number}, where the stream continues."
                raise LostLogError(reason, remedy=_REMEDY)
        elif self.incarnation not in ("", here.binlog.head.incarnation) or here.end < position:
            reason = f"{here.name} is not the file that the stream has read up to {position}."
            raise LostLogError(reason, remedy=_REMEDY)


def end_of(files: Sequence[SurveyedFile]) -> StreamPosition:
    """Return the end of the log."""
    return (files[-1].ordinal, files[-1].end) if files else START


def reach(files: Sequence[SurveyedFile], begin: StreamPosition, limit: ReadLimit) -> StreamPosition:
    """Return where a micro-batch from `begin` on ends: after at least one transaction."""
    budget = limit.max_bytes if isinstance(limit, ReadMaxBytes) else UNLIMITED
    most_files = limit.max_files if isinstance(limit, ReadMaxFiles) else None
    place = begin
    for file, start, end in islice(parts_between(files, begin, end_of(files)), most_files):
        reached = _within(file, start, end, budget, whatever=place == begin)
        if reached is None:
            break
        budget -= reached - start
        place = _after(file, reached)
        if reached < end:
            break
    return place


def _within(file: SurveyedFile, start: int, end: int, budget: int, *, whatever: bool) -> int | None:
    """Return the last place in [`start`, `end`) that the budget allows.

    None if there is none; with `whatever`, the first one, or the end of a part without any.
    """
    if end - start <= budget:
        return end
    ends = file.content.ends
    first = int(np.searchsorted(ends, start, side="right"))
    last = int(np.searchsorted(ends, start + budget, side="right"))
    if last > first:
        return int(ends[last - 1])
    if not whatever:
        return None
    return int(ends[first]) if first < len(ends) else end


def _after(file: SurveyedFile, position: int) -> StreamPosition:
    """Return the position; at the end of a complete file, the start of the next."""
    done = file.complete and position == file.end
    return (file.ordinal + 1, 0) if done else (file.ordinal, position)


def parts_between(
    files: Sequence[SurveyedFile], begin: StreamPosition, end: StreamPosition
) -> Iterator[tuple[SurveyedFile, int, int]]:
    """Yield the files between two places, each with the part of it between them, if any."""
    for file in files:
        start = max(begin, (file.ordinal, 0))
        stop = min(end, (file.ordinal, file.end))
        if start < stop:
            yield file, start[1], stop[1]


def steps_between(
    files: Sequence[SurveyedFile], begin: StreamPosition, end: StreamPosition
) -> Iterator[XaStep]:
    """Yield the steps of XA transactions between two places."""
    for file, start, stop in parts_between(files, begin, end):
        yield from (step for step in file.content.xa if start <= step.range[0] < stop)


def outcomes(files: Sequence[SurveyedFile], begin: StreamOffset, end: StreamPosition) -> XaOutcomes:
    """Return the outcomes of XA transactions prepared before or between two places, at `end`."""
    known = [
        XaStep.prepared(xid, number, start, stop)
        for xid, (number, start, stop) in begin.prepared.items()
    ]
    return XaOutcomes.of([*known, *steps_between(files, begin.place, end)])
