"""Where a log is cut into segments, found in one pass over its bytes with little kept.

A segment is a run of whole events that starts and ends between transactions, as soon as it holds
`target` bytes. A transaction that is larger than `limit` is a run of segments of its own, cut
between events every `target` bytes; what they need from before them is their `preamble`:
FORMAT_DESCRIPTION (before MySQL 5.0, START_V3), the transaction's GTID and BEGIN, its
SAVEPOINTs, and the table maps of the statement under way.

A cut is positions and marks, not bytes: memory does not grow with the file.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from decoder.constants import MAGIC, EventType
from decoder.errors import BinlogError, MalformedError
from decoder.events.format_descriptor import DESCRIPTORS, descriptors
from decoder.events.start_v3 import artificial_start
from decoder.framing.frames import SHORT_TABLE_ID
from decoder.framing.large_event import Mark
from decoder.segments.framer import Framer, Window
from decoder.transactions.boundaries import Statement
from decoder.transactions.savepoints import carried, reachable

_GTIDS = (
    *(EventType.GTID, EventType.ANONYMOUS_GTID, EventType.GTID_TAGGED, EventType.MARIADB_GTID),
)
_BEGINS = (Statement.BEGIN, Statement.XA_START)
_ROWS = [
    int(kind)
    for kind in EventType
    if "_ROWS" in kind.name and kind != EventType.MARIADB_ANNOTATE_ROWS
]
_STATEMENT_END = 0x1


@dataclass(frozen=True, slots=True)
class Cut:
    """A segment: `[start, end)` of the file.

    `transaction_pos` is where the transaction starts that the segment begins in the middle of.
    `preamble` is empty for a file's first segment, which holds its own FORMAT_DESCRIPTION.
    """

    start: Mark
    end: Mark
    transaction_pos: int | None
    preamble: bytes


@dataclass(slots=True)
class _Transaction:
    """The transaction under way: where it could be cut inside, and what a cut there needs."""

    start: int
    head: list[bytes] = field(default_factory=list)
    savepoints: dict[bytes, tuple[int, bytes]] = field(default_factory=dict)
    """By their statements: the last one of each, with its end."""
    maps: list[bytes] = field(default_factory=list)
    inside: list[tuple[Mark, bytes]] = field(default_factory=list)

    @property
    def last(self) -> int:
        """Position of the last possible cut."""
        return self.inside[-1][0].position if self.inside else self.start

    def context(self, position: int) -> bytes:
        """What a cut at a position needs from before it."""
        known = self.savepoints.values()
        near = reachable((end for end, _ in known), position)
        savepoints = [event for (_, event), kept in zip(known, near, strict=True) if kept]
        return b"".join([*self.head, *savepoints, *self.maps])


class Segmenter:
    """Cuts one file. `stored` marks the end of what was cut before, which must still be the same.

    `cuts` holds what was found so far and `boundary` marks the end of the last whole transaction.
    After the first event at `fault`, or where the bytes before `stored` have `changed`, nothing
    more is read.
    """

    def __init__(self, *, target: int, limit: int, stored: Mark | None = None) -> None:
        self.cuts: list[Cut] = []
        self.boundary = Mark(0, 0)
        self.changed = False
        self.framer = Framer()
        self._target = target
        self._limit = limit
        self._stored = stored
        self._start = stored or Mark(0, 0)
        self._inside: tuple[int, bytes] | None = None
        self._formats: list[tuple[int, bytes]] = []
        self._transaction: _Transaction | None = None

    @property
    def fault(self) -> BinlogError | None:
        """The first event at fault."""
        return self.framer.fault

    def feed(self, data: bytes) -> None:
        """Take the next bytes of the file, up to the first event at fault."""
        for window in self.framer.feed(data):
            if self._agrees_with_stored(window):
                self._follow(window)

    def finish(self) -> None:
        """The file ends here: cut what is left up to the last whole transaction."""
        self.framer.finish()
        if self.boundary.position > self._start.position and not self.changed:
            self._cut(self.boundary)

    def _follow(self, window: Window) -> None:
        """Cut what these events complete."""
        self._note_formats(window)
        first = 0
        if window.marks.starts[0]:
            self._set_boundary(window.first)
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

    def _note_formats(self, window: Window) -> None:
        """Keep what says how the events behind it are laid out."""
        types = window.frames.type
        if window.first.position == len(MAGIC) and types[0] not in DESCRIPTORS:
            self._formats.append((len(MAGIC), artificial_start()))
        known = descriptors(window.frames.layout.version)
        for index in np.flatnonzero(np.isin(types, list(known))):
            self._formats.append((int(window.ends[index]), window.event(int(index))))

    def _go_to_boundary(self, window: Window, index: int) -> int:
        """Set the last boundary; gives the first event behind it."""
        self._set_boundary(window.mark(int(window.boundaries[index])))
        return int(window.boundary_events[index]) + 1

    def _agrees_with_stored(self, window: Window) -> bool:
        stored = self._stored
        if stored is None or stored.position > window.ends[-1]:
            return True
        self._stored = None
        if window.mark(stored.position) == stored:
            return True
        self.changed = True
        self.framer.fault = MalformedError(
            "the bytes before this position are not those that were ingested from this file",
            position=stored.position,
        )
        return False

    def _segment_end(self, window: Window) -> int | None:
        """Index of the first boundary at which the segment holds enough."""
        index = int(np.searchsorted(window.boundaries, self._start.position + self._target))
        return index if index < len(window.boundaries) else None

    def _end_transaction(self, window: Window, first: int, last: int) -> None:
        """Cut at the end of the transaction whose events here are `first` to `last`.

        Where it makes the segment too large, what was before it is cut off first, and where it is
        too large alone, it is cut inside.
        """
        end = window.mark(int(window.ends[last]))
        if end.position - self._start.position > self._limit:
            if self.boundary.position > self._start.position:
                self._cut(self.boundary)
            if end.position - self._start.position > self._limit:
                transaction = self._note_inside(window, first, last)
                for mark, preamble in transaction.inside:
                    self._cut(mark, (transaction.start, preamble))
        self._set_boundary(end)
        if end.position - self._start.position >= self._target or self._inside:
            self._cut(end)

    def _set_boundary(self, mark: Mark) -> None:
        self.boundary = mark
        self._transaction = None

    def _cut(self, end: Mark, inside: tuple[int, bytes] | None = None) -> None:
        """Cut from the last cut to `end`; `inside` is what the next segment begins inside of."""
        start = self._start.position
        formats = [event for position, event in self._formats if position <= start]
        preamble = formats[-1] if formats else b""
        transaction_pos = None
        if self._inside is not None:
            transaction_pos, context = self._inside
            preamble += context
        self.cuts.append(Cut(self._start, end, transaction_pos, preamble))
        self._start = end
        self._inside = inside

    def _note_inside(self, window: Window, first: int, last: int) -> _Transaction:
        """Note where the transaction under way can be cut, among events `first` to before `last`.

        It has begun at the last boundary; the events before `first` were noted before.
        """
        transaction = self._transaction = self._transaction or _Transaction(self.boundary.position)
        while True:
            wanted = transaction.last + self._target
            event = first + int(np.searchsorted(window.ends[first:last], wanted))
            if event >= last:
                break
            _carry(transaction, window, first, event + 1)
            mark = window.mark(int(window.ends[event]))
            transaction.inside.append((mark, transaction.context(mark.position)))
            first = event + 1
        _carry(transaction, window, first, last)
        return transaction


def _carry(transaction: _Transaction, window: Window, first: int, last: int) -> None:
    """Keep what holds behind events `first` to before `last`: GTID, BEGIN, savepoints, maps."""
    types = window.frames.type[first:last]
    opening = np.isin(types, _GTIDS) | np.isin(window.marks.statement[first:last], _BEGINS)
    transaction.head += [window.event(first + int(k)) for k in np.flatnonzero(opening)]
    for k in np.flatnonzero(window.marks.statement[first:last] == Statement.SAVEPOINT).tolist():
        end = int(window.ends[first + k])
        text = _statement(window, first + k)
        transaction.savepoints.pop(text, None)  # in order of their places
        transaction.savepoints[text] = (end, carried(window.event(first + k), end))
    flags_at = np.where(window.frames.post_header[first:last] == SHORT_TABLE_ID, 4, 6)
    flags = window.bytes_at(np.arange(first, last), flags_at, 1)[:, 0]
    ends = np.flatnonzero(np.isin(types, _ROWS) & (flags & _STATEMENT_END != 0))
    if len(ends):
        transaction.maps.clear()
    behind = int(ends[-1]) + 1 if len(ends) else 0
    maps = behind + np.flatnonzero(types[behind:] == EventType.TABLE_MAP)
    transaction.maps += [window.event(first + int(k)) for k in maps]


def _statement(window: Window, index: int) -> bytes:
    """The text of a QUERY.

    Layout: thread id 4, execution time 4, length of the schema's name 1, error code 2, and from 5.0
    on the length of the status variables 2; these, the name and a 0 come before the text.
    """
    post_header = int(window.frames.post_header[index])
    body, end = int(window.frames.body[index]), int(window.frames.end[index])
    head = window.bytes_at(np.array([index]), 0, post_header)[0].tobytes()
    status = int.from_bytes(head[11:13], "little") if post_header > 11 else 0
    start = post_header + status + head[8] + 1
    text: bytes = window.bytes_at(np.array([index]), start, end - body - start)[0].tobytes()
    return text
