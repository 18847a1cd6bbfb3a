"""Boundaries of transactions: which one each event belongs to, and which events end one.

A transaction starts at a GTID of any kind; without one, at BEGIN or XA START; without these, at the
events that precede a single statement (INTVAR, RAND, USER_VAR, ROWS_QUERY) or at the statement. It
ends at XID, XA_PREPARE, COMMIT or ROLLBACK, with its payload, or, without a BEGIN, with its
statement. If another transaction starts first, it never ended, and was rolled back. MariaDB's GTID
is also a BEGIN unless flagged standalone; a BEGIN that still follows it belongs to the same
transaction. Rows events without a BEGIN (5.1) end at the statement-end flag. All other events may
occur between transactions or inside one (a relay log has ROTATE and FORMAT_DESCRIPTION inside).

The kernel is a state machine over classes of events, with `_RULES` as its transition table. It
reads bodies only for the text of QUERY and the flags of rows events and of MariaDB's GTID. Bronze
splits segments by it and the stream decodes by it, so the two agree.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import IntEnum

import numpy as np
import numpy.typing as npt

from decoder.constants import EventType
from decoder.framing.frames import (
    BODY,
    END,
    OFFSET,
    POST_HEADER,
    TYPE,
    VALID,
    Frames,
    table_id_size,
)
from decoder.kernels.memory import Array, Bytes, kernel, load_u8, load_u16


class Statement(IntEnum):
    """The kind of statement in a QUERY event, as far as it matters for transactions."""

    NONE = 0  # not a QUERY
    BEGIN = 1
    COMMIT = 2
    ROLLBACK = 3
    SAVEPOINT = 4
    ROLLBACK_TO = 5
    XA_START = 6
    XA_END = 7
    XA_COMMIT = 8
    XA_ROLLBACK = 9
    OTHER = 10


class _Mode(IntEnum):
    OUTSIDE = 0
    OPENED = 1  # after a GTID, or an event that precedes a single statement
    GROUP = 2  # after a BEGIN
    ROWS = 3  # in rows events without a BEGIN
    BEGUN = 4  # directly after MariaDB's GTID, which is a BEGIN itself


class _Class(IntEnum):
    NEUTRAL = 0
    GTID = 1
    GTID_GROUP = 2  # MariaDB's, which is a BEGIN too
    PREFIX = 3
    BEGIN = 4
    STATEMENT = 5
    END = 6
    ROWS = 7
    LAST_ROWS = 8
    UNREADABLE = 9


_STARTS, _ENDS = 8, 16
_MODES = len(_Mode)
_O, _P, _G, _R, _B = _Mode.OUTSIDE, _Mode.OPENED, _Mode.GROUP, _Mode.ROWS, _Mode.BEGUN
# For each class of event and mode (outside, opened, group, rows, begun): the next mode, whether a
# transaction starts with the event, and whether one ends with it. An unreadable event may have been
# a BEGIN, so the events after it go to the same quarantine until a transaction starts.
_RULES: dict[_Class, tuple[int, int, int, int, int]] = {
    _Class.NEUTRAL: (_O, _P, _G, _R, _B),
    _Class.GTID: (_P | _STARTS, _P | _STARTS, _P | _STARTS, _P | _STARTS, _P | _STARTS),
    _Class.GTID_GROUP: (_B | _STARTS, _B | _STARTS, _B | _STARTS, _B | _STARTS, _B | _STARTS),
    _Class.PREFIX: (_P | _STARTS, _P, _G, _R, _G),
    _Class.BEGIN: (_G | _STARTS, _G, _G | _STARTS, _G | _STARTS, _G),
    _Class.STATEMENT: (_O | _STARTS | _ENDS, _O | _ENDS, _G, _O | _STARTS | _ENDS, _G),
    _Class.END: (_O | _STARTS | _ENDS, _O | _ENDS, _O | _ENDS, _O | _ENDS, _O | _ENDS),
    _Class.ROWS: (_R | _STARTS, _R, _G, _R, _G),
    _Class.LAST_ROWS: (_O | _STARTS | _ENDS, _O | _ENDS, _G, _O | _ENDS, _G),
    _Class.UNREADABLE: (_G | _STARTS, _G, _G, _G, _G),
}
RULES: npt.NDArray[np.int64] = np.array([_RULES[kind] for kind in _Class], np.int64).reshape(-1)

_T = EventType
GTID_TYPES = (_T.GTID, _T.ANONYMOUS_GTID, _T.GTID_TAGGED, _T.MARIADB_GTID)
_CLASS_OF_TYPE: dict[_Class, tuple[EventType, ...]] = {
    _Class.GTID: GTID_TYPES,
    _Class.PREFIX: (
        *(_T.INTVAR, _T.RAND, _T.USER_VAR, _T.ROWS_QUERY, _T.MARIADB_ANNOTATE_ROWS),
        *(_T.BEGIN_LOAD_QUERY, _T.APPEND_BLOCK, _T.CREATE_FILE),
    ),
    _Class.STATEMENT: (
        *(_T.QUERY, _T.MARIADB_QUERY_COMPRESSED, _T.EXECUTE_LOAD_QUERY, _T.EXEC_LOAD),
        *(_T.LOAD, _T.NEW_LOAD, _T.INCIDENT),
    ),
    _Class.END: (_T.XID, _T.XA_PREPARE, _T.TRANSACTION_PAYLOAD),
    _Class.ROWS: (
        *(_T.TABLE_MAP, _T.WRITE_ROWS, _T.UPDATE_ROWS, _T.DELETE_ROWS, _T.PARTIAL_UPDATE_ROWS),
        *(_T.WRITE_ROWS_V1, _T.UPDATE_ROWS_V1, _T.DELETE_ROWS_V1),
        *(_T.PRE_GA_WRITE_ROWS, _T.PRE_GA_UPDATE_ROWS, _T.PRE_GA_DELETE_ROWS),
        *(_T.MARIADB_WRITE_ROWS_COMPRESSED_V1, _T.MARIADB_WRITE_ROWS_COMPRESSED),
        *(_T.MARIADB_UPDATE_ROWS_COMPRESSED_V1, _T.MARIADB_UPDATE_ROWS_COMPRESSED),
        *(_T.MARIADB_DELETE_ROWS_COMPRESSED_V1, _T.MARIADB_DELETE_ROWS_COMPRESSED),
    ),
}
CLASSES: npt.NDArray[np.int64] = np.zeros(256, np.int64)
for _kind, _types in _CLASS_OF_TYPE.items():
    CLASSES[list(_types)] = _kind

_AFTER_BEGIN: npt.NDArray[np.bool_] = np.zeros(256, np.bool_)
_AFTER_BEGIN[list(_CLASS_OF_TYPE[_Class.ROWS])] = True
_AFTER_BEGIN[[_T.ROWS_QUERY, _T.MARIADB_ANNOTATE_ROWS, _T.XID, _T.XA_PREPARE]] = True

# Upper-case words by statement; a space matches any white space. The first match counts.
_WORDS: tuple[tuple[Statement, bytes], ...] = (
    (Statement.BEGIN, b"BEGIN"),
    (Statement.BEGIN, b"START TRANSACTION"),
    (Statement.COMMIT, b"COMMIT"),
    (Statement.ROLLBACK_TO, b"ROLLBACK TO"),
    (Statement.ROLLBACK, b"ROLLBACK"),
    (Statement.SAVEPOINT, b"SAVEPOINT"),
    (Statement.XA_START, b"XA START"),
    (Statement.XA_START, b"XA BEGIN"),
    (Statement.XA_END, b"XA END"),
    (Statement.XA_COMMIT, b"XA COMMIT"),
    (Statement.XA_ROLLBACK, b"XA ROLLBACK"),
)
_WORD_WIDTH = 20


def word_table(words: Sequence[tuple[Statement, bytes]]) -> npt.NDArray[np.uint8]:
    """Return an argument of `classify_text`."""
    table = np.zeros((len(words), _WORD_WIDTH), np.uint8)
    for row, (statement, text) in zip(table, words, strict=True):
        row[:2] = statement, len(text)
        row[2 : 2 + len(text)] = np.frombuffer(text, np.uint8)
    return table


WORDS = word_table(_WORDS)

_QUERY = int(_T.QUERY)
_QUERY_POST_HEADER, _QUERY_POST_HEADER_BEFORE_V4 = 13, 11
_MARIADB_GTID = int(_T.MARIADB_GTID)
_TABLE_MAP = int(_T.TABLE_MAP)
_UNREADABLE, _LAST_ROWS = _Class.UNREADABLE.value, _Class.LAST_ROWS.value
_GTID_GROUP = _Class.GTID_GROUP.value
_STATEMENT_END = 0x1
_MARIADB_STANDALONE = 0x1
# Cells of the tracker's state.
_MODE, _START = 0, 1


@dataclass(frozen=True, slots=True)
class EventRoles:
    """The role of each event of some frames in its transaction, indexed by event.

    `start`: file position of the start of its transaction, −1 for an event between transactions;
    `starts`, `ends`: 1 if a transaction starts or ends with it; `statement`: the `Statement` of a
    QUERY.
    """

    start: npt.NDArray[np.int64]
    starts: npt.NDArray[np.int8]
    ends: npt.NDArray[np.int8]
    statement: npt.NDArray[np.int8]


def without_beginning(frames: Frames, roles: EventRoles) -> npt.NDArray[np.intp]:
    """Return the events that start a transaction, but since MySQL 5.5 only follow a BEGIN.

    They continue a transaction of an earlier file.
    """
    starts = np.flatnonzero((roles.starts != 0) & (frames.valid != 0))
    continues = _AFTER_BEGIN[frames.type[starts]] | (roles.statement[starts] == Statement.COMMIT)
    found: npt.NDArray[np.intp] = starts[continues]
    return found


class TransactionTracker:
    """Tracker of transactions through consecutive frames of one file."""

    def __init__(self) -> None:
        self._state = np.array([_Mode.OUTSIDE, -1], np.int64)

    @property
    def start(self) -> int | None:
        """File position of the start of the open transaction; None between transactions."""
        return None if self._state[_MODE] == _Mode.OUTSIDE else int(self._state[_START])

    def continue_from(self, start: int) -> None:
        """Set the start of the open transaction, whose first events are in a segment's preamble.

        If none is open (the preamble was empty), the next events count as inside one.
        """
        if self._state[_MODE] == _Mode.OUTSIDE:
            self._state[_MODE] = _Mode.GROUP
        self._state[_START] = start

    def follow(self, buffer: Bytes, frames: Frames, *, base: int) -> EventRoles:
        """Return the roles of the events in `frames`, which must follow those of the previous call.

        `base` is the file position of `buffer[0]`.
        """
        count = len(frames)
        roles = EventRoles(
            np.empty(count, np.int64),
            np.empty(count, np.int8),
            np.empty(count, np.int8),
            np.empty(count, np.int8),
        )
        _follow(
            buffer,
            frames.table,
            base,
            self._state,
            (RULES, CLASSES, WORDS),
            (roles.start, roles.starts, roles.ends, roles.statement),
        )
        return roles


@kernel
def _follow(
    buffer: Bytes,
    table: Array,
    base: int,
    state: Array,
    constants: tuple[Array, Array, Array],
    roles: tuple[Array, Array, Array, Array],
) -> None:
    rules, classes, words = constants
    start, starts, ends, statements = roles
    mode = state[_MODE]
    transaction = state[_START]
    for event in range(table.shape[1]):
        offset = table[OFFSET, event]
        body = table[BODY, event]
        end = table[END, event]
        event_type = table[TYPE, event]
        kind = classes[event_type]
        statement = 0
        if table[VALID, event] == 0:
            if kind != _Class.GTID and kind != _Class.END:
                kind = _UNREADABLE
        elif event_type == _QUERY:
            post_header = table[POST_HEADER, event]
            statement = classify_query(buffer, body, end, post_header, words)
            kind = _class_of_statement(statement)
        elif kind == _Class.ROWS and event_type != _TABLE_MAP:
            flags = body + table_id_size(table[POST_HEADER, event])
            if flags + 2 <= end and load_u16(buffer, flags) & _STATEMENT_END:
                kind = _LAST_ROWS
        elif event_type == _MARIADB_GTID:
            flags = body + 12
            if flags < end and load_u8(buffer, flags) & _MARIADB_STANDALONE == 0:
                kind = _GTID_GROUP
        rule = rules[kind * _MODES + mode]
        mode = rule & 7
        if rule & _STARTS:
            transaction = base + offset
        statements[event] = statement
        starts[event] = (rule & _STARTS) != 0
        ends[event] = (rule & _ENDS) != 0
        inside = mode != _Mode.OUTSIDE or rule & _ENDS
        start[event] = transaction if inside else -1
    state[_MODE] = mode
    state[_START] = transaction


@kernel
def _class_of_statement(statement: int) -> int:
    if statement == Statement.BEGIN or statement == Statement.XA_START:
        return _Class.BEGIN.value
    if (
        statement == Statement.OTHER
        or statement == Statement.SAVEPOINT
        or statement == Statement.ROLLBACK_TO
        or statement == Statement.XA_END
    ):
        return _Class.STATEMENT.value
    return _Class.END.value


@kernel
def classify_query(buffer: Bytes, body: int, end: int, post_header: int, words: Array) -> int:
    """Return the `Statement` of a QUERY whose body is `buffer[body:end]` (`words`: `WORDS`)."""
    text = text_of_query(buffer, body, end, post_header)
    return Statement.OTHER.value if text < 0 else classify_text(buffer, text, end, words)


@kernel
def text_of_query(buffer: Bytes, body: int, end: int, post_header: int) -> int:
    """Return the offset of a QUERY's text; -1 if its body `buffer[body:end]` is too short.

    Layout: thread id 4, execution time 4, length of the schema's name 1, error code 2, and from 5.0
    on the length of the status variables 2, together `post_header` bytes; then the status
    variables, the name, a zero byte, the text.
    """
    if post_header < _QUERY_POST_HEADER_BEFORE_V4 or body + post_header > end:
        return -1
    text = body + post_header + load_u8(buffer, body + 8) + 1
    if post_header >= _QUERY_POST_HEADER:
        text += load_u16(buffer, body + 11)
    return text


@kernel
def classify_text(buffer: Bytes, text: int, end: int, words: Array) -> int:
    """Return the `Statement` whose text is `buffer[text:end]`."""
    for row in range(words.shape[0]):
        if _begins_with(buffer, text, end, words, row):
            return int(words[row, 0])
    return Statement.OTHER.value


@kernel
def _begins_with(buffer: Bytes, position: int, end: int, words: Array, row: int) -> bool:
    """Return True if the text starts with these words, in any case, at a word boundary."""
    length = words[row, 1]
    if position + length > end:
        return False
    for k in range(length):
        byte = load_u8(buffer, position + k)
        expected = words[row, 2 + k]
        if expected == 32:
            if byte != 32 and byte != 10 and byte != 9 and byte != 13:
                return False
        elif (byte & 0xDF) != expected:
            return False
    if position + length == end:
        return True
    following = load_u8(buffer, position + length)
    return not (48 <= following <= 57 or 65 <= (following & 0xDF) <= 90 or following == 95)
