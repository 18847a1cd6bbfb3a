"""Splitting of a log into segments, in one pass over its bytes.

A segment is a sequence of whole events that starts between transactions, and ends at the first
boundary between transactions where it has at least `target` bytes. A transaction larger than
`limit` gets segments of its own, split between events every `target` bytes. The events before a
segment that are needed to decode it are its `preamble`: FORMAT_DESCRIPTION (before MySQL 5.0,
START_V3), the transaction's GTID and BEGIN, its SAVEPOINTs, and the table maps of the current
statement.

There is no boundary after a transaction that never ended: only the start of the next one shows that
it was rolled back. The two are treated as one.

A segment is stored as positions and checkpoints, not bytes, so memory does not grow with the file.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from decoder.constants import MAGIC, EventType
from decoder.errors import BinlogError, MalformedError
from decoder.events.log_start import DESCRIPTORS, descriptors
from decoder.events.start_v3 import artificial_start
from decoder.framing.frames import SHORT_TABLE_ID
from decoder.framing.large_event import Checkpoint
from decoder.segments.log_windows import FramedWindow, Framer
from decoder.transactions.boundaries import GTID_TYPES, Statement, text_of_query
from decoder.transactions.savepoints import reachable, savepoint_for_preamble

_BEGINS = (Statement.BEGIN, Statement.XA_START)
_ROWS = [
    int(kind)
    for kind in EventType
    if "_ROWS" in kind.name and kind != EventType.MARIADB_ANNOTATE_ROWS
]
_STATEMENT_END = 0x1


@dataclass(frozen=True, slots=True)
class SegmentBounds:
    """A segment: `[start, end)` of the file.

    `transaction_pos` is the start of the transaction that is open at the segment's start, if any.
    `preamble` is empty for a file's first segment, which contains the FORMAT_DESCRIPTION itself.
    """

    start: Checkpoint
    end: Checkpoint
    transaction_pos: int | None
    preamble: bytes


@dataclass(slots=True)
class _Transaction:
    """The open transaction: where it could be split, and the preambles needed there.

    `after`: the last boundary. `start`: the transaction's own start, which is later if others that
    never ended precede it. `inside`: by possible split, the start and preamble there.
    """

    after: int
    start: int
    head: list[bytes] = field(default_factory=list)
    savepoints: dict[bytes, tuple[int, bytes]] = field(default_factory=dict)
    """By statement: the last SAVEPOINT with this text, as its end and its event."""
    maps: list[bytes] = field(default_factory=list)
    inside: list[tuple[Checkpoint, tuple[int, bytes]]] = field(default_factory=list)

    @property
    def last(self) -> int:
        """Position of the last possible split."""
        return self.inside[-1][0].position if self.inside else self.after

    def restart(self, start: int) -> None:
        """Begin another transaction, which ends this one."""
        self.start = start
        self.head.clear()
        self.savepoints.clear()
        self.maps.clear()

    def context(self, position: int) -> bytes:
        """Return the earlier events that a segment starting at `position` needs."""
        known = self.savepoints.values()
        near = reachable((end for end, _ in known), position)
        savepoints = [event for (_, event), kept in zip(known, near, strict=True) if kept]
        return b"".join([*self.head, *savepoints, *self.maps])


class Segmenter:
    """Splitter of one file; `stored` is the end of the segments stored earlier, as a checkpoint.

    `segments` are the segments so far, and `boundary` is the checkpoint after the last complete
    transaction. Reading stops at the first invalid event (`fault`), or if the bytes before `stored`
    differ from those stored earlier (`changed`).
    """

    def __init__(self, *, target: int, limit: int, stored: Checkpoint | None = None) -> None:
        self.segments: list[SegmentBounds] = []
        self.boundary = Checkpoint(0, 0)
        self.changed = False
        self.framer = Framer()
        self._target = target
        self._limit = limit
        self._stored = stored
        self._start = stored or Checkpoint(0, 0)
        self._inside: tuple[int, bytes] | None = None
        self._formats: list[tuple[int, bytes]] = []
        self._transaction: _Transaction | None = None

    @property
    def fault(self) -> BinlogError | None:
        """The error of the first invalid event."""
        return self.framer.fault

    def resume(self, start: Checkpoint, description: bytes) -> None:
        """Start at `start`, between two transactions at or before `stored`, not at the beginning.

        `description`: the file's FORMAT_DESCRIPTION, the only one before `start`.
        """
        self.framer.resume(start, description, None)
        self.boundary = start
        self._formats.append((len(MAGIC) + len(description), description))

    def feed(self, data: bytes) -> None:
        """Add the next bytes of the file; those after the first invalid event are ignored."""
        for window in self.framer.feed(data):
            if self._agrees_with_stored(window):
                self._follow(window)

    def finish(self) -> None:
        """End the input: make a segment of the rest up to the last complete transaction."""
        self.framer.finish()
        if self.boundary.position > self._start.position and not self.changed:
            self._split(self.boundary)

    def _follow(self, window: FramedWindow) -> None:
        """Make the segments that these events complete."""
        self._note_formats(window)
        first = 0
        while (end := self._segment_end(window)) is not None:
            if end and window.boundaries[end - 1] > self.boundary.position:
                first = self._go_to_boundary(window, end - 1)
            last = int(window.boundary_events[end])
            self._end_transaction(window, first, last)
            first = last + 1
        if len(window.boundaries) and window.boundaries[-1] > self.boundary.position:
            first = self._go_to_boundary(window, -1)
        if first < len(window):
            self._note_inside(window, first, len(window))

    def _note_formats(self, window: FramedWindow) -> None:
        """Keep the events that define the layout of later events."""
        types = window.frames.type
        if window.first.position == len(MAGIC) and types[0] not in DESCRIPTORS:
            self._formats.append((len(MAGIC), artificial_start()))
        known = descriptors(window.frames.layout.version)
        for index in np.flatnonzero(np.isin(types, list(known))):
            self._formats.append((int(window.ends[index]), window.event(int(index))))

    def _go_to_boundary(self, window: FramedWindow, index: int) -> int:
        """Set the last boundary; return the index of the first event after it."""
        self._set_boundary(window.checkpoint_at(int(window.boundaries[index])))
        return int(window.boundary_events[index]) + 1

    def _agrees_with_stored(self, window: FramedWindow) -> bool:
        stored = self._stored
        if stored is None or stored.position > window.ends[-1]:
            return True
        self._stored = None
        if window.checkpoint_at(stored.position) == stored:
            return True
        self.changed = True
        self.framer.fault = MalformedError(
            "the bytes before this position differ from those already ingested from this file",
            position=stored.position,
        )
        return False

    def _segment_end(self, window: FramedWindow) -> int | None:
        """Return the index of the first boundary at which the segment has `target` bytes."""
        index = int(np.searchsorted(window.boundaries, self._start.position + self._target))
        return index if index < len(window.boundaries) else None

    def _end_transaction(self, window: FramedWindow, first: int, last: int) -> None:
        """End the transaction whose events in this window are `first` to `last`.

        If it makes the segment too large, the earlier transactions become a segment of their own;
        if it is too large by itself, it is split.
        """
        end = window.checkpoint_at(int(window.ends[last]))
        if end.position - self._start.position > self._limit:
            if self.boundary.position > self._start.position:
                self._split(self.boundary)
            if end.position - self._start.position > self._limit:
                transaction = self._note_inside(window, first, last)
                for checkpoint, inside in transaction.inside:
                    self._split(checkpoint, inside)
        self._set_boundary(end)
        if end.position - self._start.position >= self._target or self._inside:
            self._split(end)

    def _set_boundary(self, checkpoint: Checkpoint) -> None:
        self.boundary = checkpoint
        self._transaction = None

    def _split(self, end: Checkpoint, inside: tuple[int, bytes] | None = None) -> None:
        """Add the segment up to `end`; `inside` is the transaction that is open there, if any.

        `inside` is the transaction's start and the events that the next segment needs from it.
        """
        start = self._start.position
        formats = [event for position, event in self._formats if position <= start]
        preamble = formats[-1] if formats else b""
        transaction_pos = None
        if self._inside is not None:
            transaction_pos, context = self._inside
            preamble += context
        self.segments.append(SegmentBounds(self._start, end, transaction_pos, preamble))
        self._start = end
        self._inside = inside

    def _note_inside(self, window: FramedWindow, first: int, last: int) -> _Transaction:
        """Record where the open transaction can be split among the events in [`first`, `last`).

        It starts at the last boundary; its events before `first` were handled earlier.
        """
        after = self.boundary.position
        transaction = self._transaction = self._transaction or _Transaction(after, after)
        while True:
            wanted = transaction.last + self._target
            event = first + int(np.searchsorted(window.ends[first:last], wanted))
            if event >= last:
                break
            _keep_context(transaction, window, first, event + 1)
            checkpoint = window.checkpoint_at(int(window.ends[event]))
            context = transaction.context(checkpoint.position)
            transaction.inside.append((checkpoint, (transaction.start, context)))
            first = event + 1
        _keep_context(transaction, window, first, last)
        return transaction


def _keep_context(transaction: _Transaction, window: FramedWindow, first: int, last: int) -> None:
    """Keep the context after the events in [`first`, `last`): GTID, BEGIN, savepoints, maps."""
    starts = np.flatnonzero(window.roles.starts[first:last])
    if len(starts):
        first += int(starts[-1])
        transaction.restart(int(window.roles.start[first]))
    types = window.frames.type[first:last]
    opening = np.isin(types, GTID_TYPES) | np.isin(window.roles.statement[first:last], _BEGINS)
    transaction.head += [window.event(first + int(k)) for k in np.flatnonzero(opening)]
    for k in np.flatnonzero(window.roles.statement[first:last] == Statement.SAVEPOINT).tolist():
        end = int(window.ends[first + k])
        text = _statement(window, first + k)
        transaction.savepoints.pop(text, None)  # to keep them in the order of the log
        transaction.savepoints[text] = (end, savepoint_for_preamble(window.event(first + k), end))
    flags_at = np.where(window.frames.post_header[first:last] == SHORT_TABLE_ID, 4, 6)
    flags = window.bytes_at(np.arange(first, last), flags_at, 1)[:, 0]
    ends = np.flatnonzero(np.isin(types, _ROWS) & (flags & _STATEMENT_END != 0))
    if len(ends):
        transaction.maps.clear()
    after = int(ends[-1]) + 1 if len(ends) else 0
    maps = after + np.flatnonzero(types[after:] == EventType.TABLE_MAP)
    transaction.maps += [window.event(first + int(k)) for k in maps]


def _statement(window: FramedWindow, index: int) -> bytes:
    """Return the text of a QUERY."""
    frames = window.frames
    body, end, post_header = (
        int(field[index]) for field in (frames.body, frames.end, frames.post_header)
    )
    text: int = text_of_query(window.buffer, body, end, post_header)
    return window.buffer[text:end].tobytes()
