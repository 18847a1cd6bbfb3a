"""The few events that Python handles: formats, statements, tagged GTIDs, unsupported events.

`ControlEventHandler.handle` is called for each event that `Session.enter` listed, in order. It
writes to the session and the log of statements, and returns the event's fault if it has one.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress

import numpy as np
import numpy.typing as npt

from decoder.constants import EventType, event_name
from decoder.errors import BinlogError, ChecksumError, MalformedError, UnsupportedError
from decoder.events.event import Event
from decoder.events.format_description import FormatDescriptionEvent
from decoder.events.gtid import GtidEvent
from decoder.events.log_start import DESCRIPTORS, describe, descriptors, read_descriptor
from decoder.events.mariadb_gtid import MariadbGtidExtraFlag
from decoder.events.query import QueryEvent
from decoder.events.query_compressed import QueryCompressedEvent
from decoder.events.unknown import UnknownEvent
from decoder.events.xa_prepare import XaPrepareEvent
from decoder.framing.frames import BODY, OFFSET, SIZE, TYPE, VALID, Frames
from decoder.transactions.boundaries import (
    WORDS,
    EventRoles,
    Statement,
    classify_text,
    without_beginning,
)
from decoder.transactions.event_window import Window
from decoder.transactions.faults import INCIDENT, STATEMENT_DML, UNSUPPORTED, Fault, fault_of
from decoder.transactions.records import COUNT_ROWS, COUNT_TRANSACTION
from decoder.transactions.savepoints import Place, Savepoints
from decoder.transactions.state import (
    COMMITTED,
    FAULTY,
    ORIGINAL,
    ROLLED_BACK,
    START,
    Session,
)
from decoder.transactions.statements import StatementLog, is_dml, savepoint_name, shortened
from decoder.transactions.summaries import TransactionDetails
from decoder.transactions.xa import decided, prepared

_T = EventType
_ROWS = frozenset(
    int(kind)
    for kind in EventType
    if kind.name.endswith(("_ROWS", "_ROWS_V1", "_ROWS_COMPRESSED", "_ROWS_COMPRESSED_V1"))
)
_LOADS = (*(_T.LOAD, _T.NEW_LOAD, _T.CREATE_FILE, _T.EXEC_LOAD, _T.EXECUTE_LOAD_QUERY),)
_WITHOUT_EFFECT = MariadbGtidExtraFlag.START_ALTER | MariadbGtidExtraFlag.ROLLBACK_ALTER
"""`binlog_alter_two_phase=ON` logs an ALTER twice; only its COMMIT ALTER changes a table."""

_WITHOUT_BEGINNING = (
    "the transaction began before this file, as after a replica's reconnect in its relay logs: read"
    " the binary logs of the replica or of its source instead"
)
_STATEMENT_CACHE = (5, 5)
"""From this version on, changes that cannot be rolled back are logged in separate groups, each with
a BEGIN."""


class ControlEventHandler:
    """Handler of single events, which keeps the current FORMAT_DESCRIPTION."""

    def __init__(self, session: Session, statements: StatementLog) -> None:
        self.description: FormatDescriptionEvent | None = None
        self.details = TransactionDetails()
        self._descriptors: list[tuple[int, bytes]] = []
        self._session = session
        self._statements = statements
        self._lacks_statement_cache = False
        self._savepoints = Savepoints()

    def without_beginning(
        self, window: Window, frames: Frames, roles: EventRoles
    ) -> Iterator[Fault]:
        """Yield the fault that a window's transactions without a beginning share.

        Each statement of the same one looks like a transaction. Those in the earlier file may have
        changed any table.
        """
        events = without_beginning(frames, roles)
        if len(events) and not self._may_lack_begin(window):
            self._session.transactions[window.transaction[events], FAULTY] = 1
            yield fault_of(window, int(events[0]), UnsupportedError(_WITHOUT_BEGINNING))

    def handle(self, window: Window, event: int) -> Fault | None:
        """Handle an event; return its fault if it has one."""
        code = int(window.table[TYPE, event])
        if not window.table[VALID, event]:
            error = ChecksumError("the checksum does not match")
            return fault_of(window, event, error, tables_are_known=code in _ROWS)
        try:
            return _HANDLERS.get(code, ControlEventHandler._unsupported)(self, window, event)
        except BinlogError as error:
            return fault_of(window, event, error)

    def begin(self, descriptor: bytes) -> None:
        """Set the descriptor event for the first events, if it is not one of them."""
        self.description = read_descriptor(descriptor, 0)
        self._descriptors.append((0, descriptor))

    def descriptor_at(self, position: int) -> bytes:
        """Return the descriptor event that applies at a position of the file."""
        before = [event for start, event in self._descriptors if start <= position]
        return before[-1] if before else b""

    def refused_rollbacks(self, counts: npt.NDArray[np.int64], current: int) -> list[Fault]:
        """Return a fault for each ended transaction that was rolled back but has rows in the log.

        Before MySQL 5.5 the log does not show whether such rows were kept.
        """
        if not self._lacks_statement_cache:
            return []
        transactions = self._session.transactions
        used = (counts[:, COUNT_ROWS] > 0) & (counts[:, COUNT_TRANSACTION] >= 0)
        owners = np.unique(counts[used, COUNT_TRANSACTION])
        reason = (
            "rows were logged before a ROLLBACK; they were kept in tables of engines without"
            " transactions, which a log from before MySQL 5.5 does not identify"
        )
        return [
            Fault(UnsupportedError(reason, position=int(start)), UNSUPPORTED, index)
            for index, start in zip(owners.tolist(), transactions[owners, START], strict=True)
            if index != current and transactions[index, ROLLED_BACK]
        ]

    def keep_current(self, current: int) -> None:
        """Renumber transaction `current` to 0 and forget all others."""
        self.details = self.details.only(current)
        if self._savepoints.transaction == current:
            self._savepoints.transaction = 0
        else:
            self._savepoints = Savepoints()

    def _may_lack_begin(self, window: Window) -> bool:
        """Return True if a server that wrote the window, or what precedes it, is before 5.5."""
        if self._lacks_statement_cache:
            return True
        for event in np.flatnonzero(np.isin(window.table[TYPE], list(DESCRIPTORS))).tolist():
            with suppress(BinlogError):  # `handle` returns its fault
                if _is_before_statement_cache(_description(window, event)):
                    return True
        return False

    # --- handlers of event types ------------------------------------------------------------------

    def _describe(self, window: Window, event: int) -> None:
        header = window.header(event)
        if self.description and header.type not in descriptors(self.description.binlog_version):
            raise header.malformed("version 4 of the format has no such event type")
        self.description = _description(window, event)
        if _is_before_statement_cache(self.description):
            self._lacks_statement_cache = True
        offset, size = int(window.table[OFFSET, event]), int(window.table[SIZE, event])
        content = bytes(window.buffer[offset : offset + size])
        self._descriptors.append((int(window.position[event]), content))

    def _short_gtid(self, window: Window, event: int) -> None:
        # raises, as the kernel lists only truncated GTID events
        window.parse(event, self.description, Event)
        raise MalformedError("its transaction number is missing")

    def _tagged_gtid(self, window: Window, event: int) -> None:
        found = window.parse(event, self.description, GtidEvent)
        transaction = int(window.transaction[event])
        self._session.set_gtid(transaction, found.gtid)
        row = self._session.transactions[transaction]
        if found.immediate_commit_timestamp is not None:
            row[COMMITTED] = found.immediate_commit_timestamp
        if found.original_commit_timestamp is not None:
            row[ORIGINAL] = found.original_commit_timestamp

    def _incident(self, window: Window, event: int) -> Fault:
        error = UnsupportedError("the server lost changes that are missing from the log (INCIDENT)")
        return fault_of(window, event, error, INCIDENT)

    def _load(self, window: Window, event: int) -> Fault:
        if window.table[TYPE, event] == _T.EXECUTE_LOAD_QUERY:
            self._log(window, event, window.parse(event, self.description, QueryEvent))
        error = UnsupportedError("LOAD DATA is logged as a statement instead of rows")
        return fault_of(window, event, error, STATEMENT_DML)

    def _unsupported(self, window: Window, event: int) -> Fault:
        code = int(window.table[TYPE, event])
        found = window.parse(event, self.description, Event)
        if isinstance(found, UnknownEvent):
            found.require_ignorable()
        error = UnsupportedError(f"events of type {event_name(code)} are not supported")
        return fault_of(window, event, error, tables_are_known=code in _ROWS)

    def _query(self, window: Window, event: int) -> Fault | None:
        found = window.parse(event, self.description, QueryEvent)
        statement = int(window.statement[event])
        if statement in (Statement.SAVEPOINT, Statement.ROLLBACK_TO):
            rollback = statement == Statement.ROLLBACK_TO
            return self._savepoint(window, event, found.query, rollback=rollback)
        if statement in (Statement.XA_START, Statement.XA_END):
            return None
        if statement in (Statement.XA_COMMIT, Statement.XA_ROLLBACK):
            transaction = int(window.transaction[event])
            self.details.xa.setdefault(transaction, decided(found.query, statement))
        return self._statement(window, event, found)

    def _xa_prepare(self, window: Window, event: int) -> None:
        found = window.parse(event, self.description, XaPrepareEvent)
        self.details.xa[int(window.transaction[event])] = prepared(found)

    def _query_compressed(self, window: Window, event: int) -> Fault | None:
        """Handle a compressed statement, which cannot be BEGIN, COMMIT or SAVEPOINT.

        MariaDB writes those itself, without compression (`THD::binlog_query` compresses;
        `log_bin_compress_min_len` is at least 10).
        """
        found = window.parse(event, self.description, QueryCompressedEvent)
        text = np.frombuffer(bytearray(found.query.encode()), np.uint8)
        if classify_text(text, 0, len(text), WORDS) != Statement.OTHER:
            raise MalformedError(
                f"this statement cannot occur in compressed form: {shortened(found.query)}"
            )
        return self._statement(window, event, found)

    def _statement(self, window: Window, event: int, query: QueryEvent) -> Fault | None:
        if (query.status.gtid_flags_extra or 0) & _WITHOUT_EFFECT:
            return None
        self._log(window, event, query)
        if window.statement[event] not in (Statement.OTHER, Statement.NONE):
            return None
        if not is_dml(query.query, in_transaction=not window.ends[event]):
            return None
        reason = f"a change is logged as a statement instead of rows: {shortened(query.query)}"
        return fault_of(window, event, UnsupportedError(reason), STATEMENT_DML)

    def _log(self, window: Window, event: int, query: QueryEvent) -> None:
        transaction = int(window.transaction[event])
        self._statements.add(
            query,
            lsn=self._session.lsn(transaction),
            gtid=self._session.gtid(transaction),
            committed_at=int(self._session.transactions[transaction, COMMITTED]),
        )

    def _savepoint(self, window: Window, event: int, query: str, *, rollback: bool) -> Fault | None:
        transaction, position = int(window.transaction[event]), int(window.position[event])
        savepoints = self._savepoints.of(transaction)
        name = savepoint_name(query)
        row = self._session.next_row(position) if window.inner else None
        if not rollback:
            size = 0 if window.inner else int(window.table[SIZE, event])
            savepoints.places[name] = Place(position + size, row)
            return None
        try:
            rows = savepoints.rolled_back(name, Place(position, row), query)
        except UnsupportedError as error:
            return fault_of(window, event, error, tables_are_known=True)
        self.details.rolled_back.setdefault(transaction, []).append(rows)
        return None


def _description(window: Window, event: int) -> FormatDescriptionEvent:
    offset, size = int(window.table[OFFSET, event]), int(window.table[SIZE, event])
    body = memoryview(window.buffer.data)[int(window.table[BODY, event]) : offset + size]
    return describe(body, window.header(event))


def _is_before_statement_cache(description: FormatDescriptionEvent) -> bool:
    numbers = re.findall(r"\d+", description.server_version)[:2]
    return tuple(map(int, numbers)) < _STATEMENT_CACHE


_HANDLERS: Mapping[int, Callable[[ControlEventHandler, Window, int], Fault | None]] = {
    **dict.fromkeys(DESCRIPTORS, ControlEventHandler._describe),
    _T.QUERY: ControlEventHandler._query,
    _T.MARIADB_QUERY_COMPRESSED: ControlEventHandler._query_compressed,
    _T.GTID: ControlEventHandler._short_gtid,
    _T.ANONYMOUS_GTID: ControlEventHandler._short_gtid,
    _T.MARIADB_GTID: ControlEventHandler._short_gtid,
    _T.GTID_TAGGED: ControlEventHandler._tagged_gtid,
    _T.XA_PREPARE: ControlEventHandler._xa_prepare,
    _T.INCIDENT: ControlEventHandler._incident,
    **dict.fromkeys(_LOADS, ControlEventHandler._load),
}
"""Handlers by event type: functions, because bound methods would create a reference cycle."""
