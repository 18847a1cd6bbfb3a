"""Excerpts: the few events of a segment that determine its table definitions.

An excerpt contains every TABLE_MAP that differs from the previous one with the same table id, every
statement that may change tables (after which each TABLE_MAP counts as new), and the events that
identify their transactions: first event, BEGIN and last event. It also contains the segment's first
event, the first event of its last transaction, and the events that define the layout.

`SegmentDecoder` decodes it as if it were the segment (`excerpt_content`), with the same
definitions, the same statements that may change tables, and the same last transaction. An excerpt
may contain more than necessary, but never less. If that cannot be guaranteed, there is no excerpt:
with compressed transactions, with a transaction that never ended, and if it would become too large.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence, Set

import numpy as np
import numpy.typing as npt

from decoder.constants import MAGIC, EventType as T
from decoder.errors import UnsupportedError
from decoder.events.log_start import DESCRIPTORS
from decoder.kernels.memory import Array, Bytes, kernel, load_u8
from decoder.rows.grouping import Maps, find_map
from decoder.rows.table_slots import TableMaps, id_and_content
from decoder.segments.log_windows import FramedWindow
from decoder.transactions.boundaries import Statement, classify_text, text_of_query, word_table

LIMIT = 1 << 18
"""The most bytes of an excerpt; a larger one would contain most of the segment."""

ExcerptEvents = Sequence[tuple[int, bytes]]
"""Whole events, each with its position in the file, in order."""

_PASSED, _ALWAYS, _MAP, _QUERY, _OPAQUE = range(5)
_INTEREST: npt.NDArray[np.int64] = np.full(256, _PASSED, np.int64)
_INTEREST[[*DESCRIPTORS, T.MARIADB_QUERY_COMPRESSED, T.EXECUTE_LOAD_QUERY]] = _ALWAYS
_INTEREST[T.TABLE_MAP], _INTEREST[T.QUERY] = _MAP, _QUERY
_INTEREST[T.TRANSACTION_PAYLOAD] = _OPAQUE
_BEGINS = (Statement.BEGIN, Statement.XA_START)
# The words of `decoder.transactions.statements.may_change_tables`. MariaDB's SET STATEMENT … FOR
# can be followed by any statement.
_WORDS = (b"CREATE", b"ALTER", b"DROP", b"RENAME", b"TRUNCATE", b"SET")
_WORD_TABLE = word_table([(Statement.NONE, word) for word in _WORDS])
_NOT_READ = UnsupportedError("TABLE_MAPs are only compared, not parsed, for an excerpt")
_SIZE = slice(9, 13)
"""The size field of an event header."""


class Excerpt:
    """Builder of the excerpt of a segment, whose windows are added in order."""

    def __init__(self) -> None:
        self._events: dict[int, bytes] = {}
        self._size = 0
        self._possible = True
        self._maps = TableMaps(None)
        self._changes = 0
        self._empty = True
        self._last: dict[int, bytes] = {}
        self._owners: Set[int] = set()
        self._open = -1
        self._head: dict[int, bytes] = {}

    @property
    def events(self) -> ExcerptEvents | None:
        """The excerpt; None if it is not possible, and the whole segment must be read."""
        found = sorted({**self._events, **self._last}.items())
        size = sum(len(event) for _, event in found)
        return found if self._possible and size <= LIMIT and all(map(_is_whole, found)) else None

    def add(self, window: FramedWindow) -> None:
        """Add the next window of the segment."""
        self._possible = self._possible and not self._has_unended_transaction(window)
        wanted = self._of_interest(window) if self._possible else None
        if wanted is None or not self._possible:
            return
        wanted[0] |= self._empty
        self._empty = False
        roles = window.roles
        owners = {int(start) for start in np.unique(roles.start[wanted]) if start >= 0}
        if self._open in owners:
            self._keep(self._head)
        opening = (roles.starts != 0) | np.isin(roles.statement, _BEGINS)
        owners |= self._owners
        framing = np.isin(roles.start, list(owners)) & (opening | (roles.ends != 0))
        self._keep(_events(window, wanted | framing))
        self._note_open(window, opening)
        self._owners = owners & {self._open}
        self._possible = self._size <= LIMIT

    def _has_unended_transaction(self, window: FramedWindow) -> bool:
        """Return True if a transaction starts while another is open, which then never ends.

        Whether it starts may depend on any event of the previous one (see
        `decoder.transactions.boundaries`).
        """
        roles = window.roles
        is_open = np.append(self._open >= 0, (roles.start[:-1] >= 0) & (roles.ends[:-1] == 0))
        return bool(((roles.starts != 0) & is_open).any())

    def _of_interest(self, window: FramedWindow) -> npt.NDArray[np.bool_]:
        """Return a mask of the events that contain a definition or may change one."""
        frames, count = window.frames, len(window)
        found = np.zeros(count, np.bool_)
        columns = frames.type, frames.body, frames.end, frames.post_header, window.roles.statement
        event = 0
        while (
            event := next_of_interest(
                window.buffer, columns, event, (_INTEREST, _WORD_TABLE), self._maps.arrays
            )
        ) < count:
            interest = _INTEREST[frames.type[event]]
            if interest == _OPAQUE or self._size > LIMIT:
                self._possible = False
                break
            if interest == _MAP:
                self._register(window, event)
            else:
                self._changes += 1
                self._maps.invalidate_after(self._changes)
            found[event] = True
            event += 1
        return found

    def _register(self, window: FramedWindow, event: int) -> None:
        frames = window.frames
        body, end = int(frames.body[event]), int(frames.end[event])
        found = id_and_content(window.buffer, body, end, int(frames.post_header[event]))
        if found is not None:
            self._maps.register(*found, 0, _NOT_READ)

    def _note_open(self, window: FramedWindow, opening: npt.NDArray[np.bool_]) -> None:
        """Keep the events of the last transaction that later windows may need."""
        roles = window.roles
        starts = np.flatnonzero(roles.starts)
        if len(starts):
            self._last = _events(window, starts[-1:])
        start = -1 if roles.ends[-1] else int(roles.start[-1])
        if start != self._open:
            self._open, self._head = start, {}
        if start >= 0:
            self._head |= _events(window, opening & (roles.start == start))

    def _keep(self, events: Mapping[int, bytes]) -> None:
        self._size += sum(len(events[new]) for new in events.keys() - self._events.keys())
        self._events |= events


def excerpt_content(events: ExcerptEvents, start: int) -> tuple[bytes, dict[int, int]]:
    """Return an excerpt as the content of a segment that starts at `start`, for `SegmentDecoder`.

    The dictionary maps the positions in its results to the positions of the events in the file.
    """
    head = MAGIC if start == 0 else b""
    places = {start: start}
    at = start + len(head)
    for position, event in events:
        places[at] = position
        at += len(event)
    return head + b"".join(event for _, event in events), places


def _events(window: FramedWindow, chosen: npt.NDArray[np.generic]) -> dict[int, bytes]:
    """Return events by position; `chosen` are indices or a mask."""
    listed = np.flatnonzero(chosen) if chosen.dtype == np.bool_ else chosen
    starts = (window.ends - window.frames.size)[listed].tolist()
    return dict(zip(starts, map(window.event, listed.tolist()), strict=True))


def _is_whole(placed: tuple[int, bytes]) -> bool:
    """Return False for an event that was too large to be held, so that only its start is known."""
    event = placed[1]
    return int.from_bytes(event[_SIZE], "little") == len(event)


@kernel
def next_of_interest(
    buffer: Bytes,
    columns: tuple[Array, Array, Array, Array, Array],
    event: int,
    constants: tuple[Array, Array],
    maps: Maps,
) -> int:
    """Return the next event of interest from `event` on, or the number of events if none is.

    `columns`: type, body, end, post-header length, `Statement` of a QUERY.
    """
    types, bodies, ends, post_headers, statements = columns
    interests, words = constants
    while event < len(types):
        interest = interests[types[event]]
        body, end, post_header = bodies[event], ends[event], post_headers[event]
        if interest == _MAP:
            if find_map(buffer, body, end, 0, post_header, maps) < 0:
                return event
        elif interest == _QUERY:
            statement = statements[event]
            known = statement != Statement.OTHER and statement != Statement.NONE
            if not known and _may_change_tables(buffer, body, end, post_header, words):
                return event
        elif interest != _PASSED:
            return event
        event += 1
    return event


@kernel
def _may_change_tables(buffer: Bytes, body: int, end: int, post_header: int, words: Array) -> bool:
    """Return False if the text starts with a word of a statement that changes no tables.

    It is compared as bytes, because every possible client charset encodes ASCII letters as
    themselves. Text that starts with anything else (a comment, white space) may change tables.
    """
    text = text_of_query(buffer, body, end, post_header)
    if text < 0 or text >= end:
        return True
    first = load_u8(buffer, text) & 0xDF
    if first < 65 or first > 90:
        return True
    return bool(classify_text(buffer, text, end, words) != Statement.OTHER)
