"""Pass 2: the state of transactions across events.

A transaction is a row of an int64 table, so that kernels can fill and read it; its columns are
named below. `open_transactions` adds one for each GTID (or other start) of a window, parses GTIDs
in place, and lists the few events that Python must handle.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from decoder.constants import EventFlag, EventType
from decoder.framing.frames import (
    BODY,
    END,
    FLAGS,
    OFFSET,
    POST_HEADER,
    SERVER_ID,
    SIZE,
    TIMESTAMP,
    TYPE,
    VALID,
    Frames,
)
from decoder.kernels.memory import Array, Bytes, kernel, load_i64, load_u8, load_u24, load_u32
from decoder.transactions.boundaries import WORDS, EventRoles, Statement, classify_query
from decoder.transactions.event_window import Window
from decoder.transactions.gtid_text import GTID_WIDTH, write_gtid, write_mariadb_gtid
from decoder.transactions.records import ROW, ROW_POSITION, STATE_SIZE

# Columns of the table of transactions. Times are microseconds since 1970, −1 where not logged.
START, STOP, COMMITTED, ORIGINAL, SERVER, SECOND, XID, HAS_XID = range(8)
BYTES, FAULTY, ROLLED_BACK, PREPARED, GTID, GTID_LENGTH = range(8, 14)
TRANSACTION_FIELDS = 14

# How `open_transactions` treats an event type: pass, list it, list it unless flagged ignorable.
_PASS, _LIST, _LIST_UNLESS_IGNORABLE = range(3)
_T = EventType
# Types for which nothing has to be done in Python. Any other of `EventType` is given to
# `control_events`, where one without a handler is a fault, even if its event is ignorable.
_PASSED = (
    *(_T.STOP, _T.ROTATE, _T.INTVAR, _T.RAND, _T.USER_VAR, _T.XID, _T.TABLE_MAP, _T.HEARTBEAT),
    *(_T.WRITE_ROWS_V1, _T.UPDATE_ROWS_V1, _T.DELETE_ROWS_V1, _T.HEARTBEAT_V2, _T.IGNORABLE),
    *(_T.PRE_GA_WRITE_ROWS, _T.PRE_GA_UPDATE_ROWS, _T.PRE_GA_DELETE_ROWS, _T.PARTIAL_UPDATE_ROWS),
    *(_T.WRITE_ROWS, _T.UPDATE_ROWS, _T.DELETE_ROWS, _T.GTID, _T.ANONYMOUS_GTID, _T.ROWS_QUERY),
    *(_T.PREVIOUS_GTIDS, _T.TRANSACTION_CONTEXT, _T.VIEW_CHANGE, _T.BEGIN_LOAD_QUERY),
    *(_T.APPEND_BLOCK, _T.DELETE_FILE, _T.QUERY, _T.MARIADB_ANNOTATE_ROWS),
    *(_T.MARIADB_BINLOG_CHECKPOINT, _T.MARIADB_GTID_LIST, _T.MARIADB_GTID),
    _T.MARIADB_START_ENCRYPTION,  # framing stops after it
    *(kind for kind in _T if "_ROWS_COMPRESSED" in kind.name),  # rewritten (`compressed_rows`)
)
ATTENTION: npt.NDArray[np.int64] = np.full(256, _LIST_UNLESS_IGNORABLE, np.int64)
ATTENTION[[int(code) for code in _T]] = _LIST
ATTENTION[[int(code) for code in _PASSED]] = _PASS
_IGNORABLE = int(EventFlag.IGNORABLE)

_GTID, _ANONYMOUS, _XID = int(_T.GTID), int(_T.ANONYMOUS_GTID), int(_T.XID)
_MARIADB_GTID = int(_T.MARIADB_GTID)
_QUERY = int(_T.QUERY)
_XA_PREPARE = int(_T.XA_PREPARE)
_ROLLBACK = Statement.ROLLBACK.value
_XA_ROLLBACK = Statement.XA_ROLLBACK.value
_PLAIN_STATEMENTS = Statement.ROLLBACK.value  # BEGIN, COMMIT, ROLLBACK are handled by the kernel
_GTID_LENGTH = 25  # flags, UUID, number
_MARIADB_GTID_LENGTH = 13  # number, domain, flags
_HAS_ORIGINAL = 1 << 55
# Cells of the counters of `open_transactions`: transactions, the open one, GTID bytes, listed
# events.
_COUNT, _CURRENT, _TEXT, _LISTED = range(4)


class Session:
    """The transactions of the current window, first the one that was open before it (index 0).

    `ordinal`: the file's number in the log. `scan`: the state of the walk over rows events, the
    cells `EVENT` to `WALKS` of `decoder.transactions.records`.
    """

    def __init__(self, ordinal: int) -> None:
        self.ordinal = ordinal
        self.scan: npt.NDArray[np.int64] = np.zeros(STATE_SIZE, np.int64)
        self.scan[ROW_POSITION] = -1
        self.transactions: npt.NDArray[np.int64] = np.zeros((64, TRANSACTION_FIELDS), np.int64)
        self.gtids: npt.NDArray[np.uint8] = np.zeros(64 * GTID_WIDTH, np.uint8)
        self._counters = np.array([0, -1, 0, 0], np.int64)

    @property
    def count(self) -> int:
        """Number of transactions."""
        return int(self._counters[_COUNT])

    @property
    def current(self) -> int:
        """Index of the transaction that is open after the last event; −1 if none is."""
        return int(self._counters[_CURRENT])

    def enter(self, buffer: Bytes, frames: Frames, roles: EventRoles, *, base: int) -> Window:
        """Assign each event to its transaction, opening and closing transactions by `roles`."""
        self._reserve(int(np.count_nonzero(roles.starts)))
        count = len(frames)
        transaction, position = np.empty(count, np.int64), np.empty(count, np.int64)
        attention = np.empty(count, np.int64)
        self._counters[_LISTED] = 0
        open_transactions(
            buffer,
            frames.table,
            base,
            (roles.start, roles.starts, roles.ends, roles.statement),
            self.transactions,
            self.gtids,
            self._counters,
            ATTENTION,
            (transaction, position, attention),
        )
        listed = attention[: int(self._counters[_LISTED])]
        return Window(
            buffer, frames.table, transaction, position, roles.statement, roles.ends, listed
        )

    def enter_payloads(
        self,
        buffer: Bytes,
        frames: Frames,
        transaction: npt.NDArray[np.int64],
        position: npt.NDArray[np.int64],
    ) -> Window:
        """Enter the events of payloads.

        `transaction` and `position` are those of each event's payload.
        """
        count = len(frames)
        statement, attention = np.zeros(count, np.int8), np.empty(count, np.int64)
        listed = note_inner(
            buffer,
            frames.table,
            WORDS,
            (statement, attention),
            self.transactions,
            transaction,
            self.gtids,
            self._counters,
            ATTENTION,
        )
        ends = np.zeros(count, np.int8)
        return Window(
            buffer, frames.table, transaction, position, statement, ends, attention[:listed], True
        )

    def continue_from(self, start: int) -> None:
        """Set the start of the open transaction; open one if none is open."""
        current = self.current
        if current < 0:
            self._reserve(1)
            current = self.count
            _begin(self.transactions, current, start, 0)
            self._counters[:2] = (current + 1, current)
        self.transactions[current, START] = start
        self.transactions[current, BYTES] = 0

    def _reserve(self, count: int) -> None:
        """Allocate space for `count` more transactions and their GTIDs."""
        needed = self.count + count + 1
        if needed > len(self.transactions):
            grown = np.zeros((2 * needed, TRANSACTION_FIELDS), np.int64)
            grown[: self.count] = self.transactions[: self.count]
            self.transactions = grown
        self._reserve_text(count * GTID_WIDTH)

    def _reserve_text(self, length: int) -> None:
        used = int(self._counters[_TEXT])
        if used + length + GTID_WIDTH > len(self.gtids):
            grown = np.zeros(2 * (used + length + GTID_WIDTH), np.uint8)
            grown[:used] = self.gtids[:used]
            self.gtids = grown

    def set_gtid(self, transaction: int, gtid: str | None) -> None:
        """Set the text of a GTID that the kernel does not read (a tagged one)."""
        text = (gtid or "").encode()
        self._reserve_text(len(text))
        used = int(self._counters[_TEXT])
        self.gtids[used : used + len(text)] = np.frombuffer(text, np.uint8)
        self._counters[_TEXT] = used + len(text)
        self.transactions[transaction, [GTID, GTID_LENGTH]] = (used, len(text))

    def lsn(self, transaction: int) -> int:
        """Return the LSN of a transaction."""
        return self.ordinal << 40 | int(self.transactions[transaction, START])

    def next_row(self, position: int) -> int:
        """Return the number of the next row of the events at a file position."""
        return int(self.scan[ROW]) if self.scan[ROW_POSITION] == position else 0

    def gtid(self, transaction: int) -> str | None:
        """Return the text of a transaction's GTID; None if the log has none."""
        start, length = self.transactions[transaction, [GTID, GTID_LENGTH]].tolist()
        return self.gtids[start : start + length].tobytes().decode() if length else None

    def keep_current(self, *, forget: bool = False) -> None:
        """Forget all transactions but the open one, which becomes the first.

        With `forget`, forget the open one too.
        """
        current = -1 if forget else self.current
        if current < 0:
            self._counters[:3] = (0, -1, 0)
            return
        row = self.transactions[current].copy()
        start, length = int(row[GTID]), int(row[GTID_LENGTH])
        self.gtids[:length] = self.gtids[start : start + length].copy()
        row[GTID] = 0
        self.transactions[0] = row
        self._counters[:3] = (1, 0, length)


@kernel
def open_transactions(
    buffer: Bytes,
    table: Array,
    base: int,
    roles: tuple[Array, Array, Array, Array],
    transactions: Array,
    gtids: Bytes,
    counters: Array,
    attention: Array,
    result: tuple[Array, Array, Array],
) -> None:
    """Implement `Session.enter`; `result`: transaction and position by event, the listed events."""
    start, starts, ends, statement = roles
    transaction, position, listed = result
    current = counters[_CURRENT]
    listed_count = 0
    for event in range(table.shape[1]):
        offset = table[OFFSET, event]
        position[event] = base + offset
        if starts[event]:
            if current >= 0:  # never ended: the server crashed or the connection was lost
                transactions[current, STOP] = base + offset
                transactions[current, ROLLED_BACK] = 1
            current = counters[_COUNT]
            counters[_COUNT] += 1
            _begin(transactions, current, start[event], table[SERVER_ID, event])
        owner = current if start[event] >= 0 else -1
        transaction[event] = owner
        if _needs_attention(table, event, statement[event], attention):
            listed[listed_count] = event
            listed_count += 1
        if owner >= 0:
            transactions[owner, BYTES] += table[SIZE, event]
            transactions[owner, SECOND] = table[TIMESTAMP, event]
            note_event(buffer, table, event, statement[event], transactions, owner, gtids, counters)
        if ends[event]:
            transactions[owner, STOP] = base + offset + table[SIZE, event]
            current = -1
    counters[_CURRENT] = current
    counters[_LISTED] = listed_count


@kernel
def note_inner(
    buffer: Bytes,
    table: Array,
    words: Array,
    result: tuple[Array, Array],
    transactions: Array,
    owners: Array,
    gtids: Bytes,
    counters: Array,
    attention: Array,
) -> int:
    """Implement `Session.enter_payloads`; return the number of listed events.

    `result`: the `Statement` by event, the listed events.
    """
    statement, listed = result
    count = 0
    for event in range(table.shape[1]):
        owner = owners[event]
        if table[TYPE, event] == _QUERY:
            body, post_header = table[BODY, event], table[POST_HEADER, event]
            statement[event] = classify_query(buffer, body, table[END, event], post_header, words)
        if _needs_attention(table, event, statement[event], attention):
            listed[count] = event
            count += 1
        transactions[owner, SECOND] = table[TIMESTAMP, event]
        note_event(buffer, table, event, statement[event], transactions, owner, gtids, counters)
    return count


@kernel
def _begin(transactions: Array, index: int, start: int, server_id: int) -> None:
    transactions[index] = 0
    transactions[index, START] = start
    transactions[index, STOP] = -1
    transactions[index, COMMITTED] = -1
    transactions[index, ORIGINAL] = -1
    transactions[index, SERVER] = server_id


@kernel
def _needs_attention(table: Array, event: int, statement: int, attention: Array) -> bool:
    if table[VALID, event] == 0 or statement > _PLAIN_STATEMENTS:
        return True
    length = table[END, event] - table[BODY, event]
    if table[TYPE, event] in (_GTID, _ANONYMOUS):
        return bool(length < _GTID_LENGTH)
    if table[TYPE, event] == _MARIADB_GTID:
        return bool(length < _MARIADB_GTID_LENGTH)
    action = attention[table[TYPE, event]]
    if action == _LIST_UNLESS_IGNORABLE:
        return bool(table[FLAGS, event] & _IGNORABLE == 0)
    return int(action) == _LIST


@kernel
def note_event(
    buffer: Bytes,
    table: Array,
    event: int,
    statement: int,
    transactions: Array,
    owner: int,
    gtids: Bytes,
    counters: Array,
) -> None:
    """Record what an event defines of its transaction as a whole."""
    event_type = table[TYPE, event]
    body = table[BODY, event]
    end = table[END, event]
    if table[VALID, event] == 0:
        return
    if event_type in (_GTID, _ANONYMOUS) and body + _GTID_LENGTH <= end:
        _read_gtid(buffer, body, end, event_type == _GTID, transactions, owner, gtids, counters)
    elif event_type == _MARIADB_GTID and body + _MARIADB_GTID_LENGTH <= end:
        start = counters[_TEXT]
        length = write_mariadb_gtid(buffer, body, table[SERVER_ID, event], gtids, start)
        transactions[owner, GTID] = start
        transactions[owner, GTID_LENGTH] = length
        counters[_TEXT] = start + length
    elif event_type == _XID and body + 8 <= end:
        transactions[owner, XID] = load_i64(buffer, body)
        transactions[owner, HAS_XID] = 1
    elif event_type == _XA_PREPARE and body < end:
        transactions[owner, PREPARED] = load_u8(buffer, body) == 0  # else COMMIT … ONE PHASE
    elif statement in (_ROLLBACK, _XA_ROLLBACK):
        transactions[owner, ROLLED_BACK] = 1


@kernel
def _read_gtid(
    buffer: Bytes,
    body: int,
    end: int,
    named: bool,
    transactions: Array,
    owner: int,
    gtids: Bytes,
    counters: Array,
) -> None:
    """Read a GTID's text and commit times.

    Layout: flags 1, server UUID 16, number 8; from 5.7 on a typecode 1, last committed 8, sequence
    number 8; from 8.0 on the commit time 7 (bit 55: the original commit time follows, 7), and more.
    """
    if named:
        start = counters[_TEXT]
        length = write_gtid(buffer, body + 1, load_i64(buffer, body + 17), gtids, start)
        transactions[owner, GTID] = start
        transactions[owner, GTID_LENGTH] = length
        counters[_TEXT] = start + length
    times = body + 42
    if times + 7 > end:
        return
    time = _load_7(buffer, times)
    original = time
    if time & _HAS_ORIGINAL:
        time ^= _HAS_ORIGINAL
        original = _load_7(buffer, times + 7) if times + 14 <= end else -1
    transactions[owner, COMMITTED] = time
    transactions[owner, ORIGINAL] = original


@kernel
def _load_7(buffer: Bytes, position: int) -> int:
    return load_u32(buffer, position) | load_u24(buffer, position + 4) << 32
