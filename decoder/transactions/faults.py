"""Faults: what could not be decoded, collected while decoding and reported once per transaction.

A transaction with a fault is flagged in the table of transactions, so that kernels skip its rows
and rows already in a batch are dropped. It is reported when it ends, because only then all its
TABLE_MAPs, and so all the tables that it changes, are known.

DML that is logged as a statement is different: the transaction's logged rows are complete, and each
statement is reported separately, since each has its own tables (which the decoder does not read).
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from decoder.constants import event_name
from decoder.errors import BinlogError, UnsupportedError
from decoder.framing.frames import OFFSET, SIZE, TYPE
from decoder.model import schemas
from decoder.model.segment import Segment
from decoder.transactions.counting import tables_of
from decoder.transactions.event_window import Window
from decoder.transactions.state import FAULTY, Session

CONTENT_LIMIT = 1 << 16
"""The most bytes of an event that a fault contains."""

UNDECODABLE, UNSUPPORTED = "undecodable", "unsupported"
STATEMENT_DML, INCIDENT, LOSSY_KEY = "statement", "incident", "lossy_key"


@dataclass(slots=True)
class Fault:
    """A fault of a transaction (−1: of an event outside of transactions).

    `tables_are_known`: the transaction's TABLE_MAPs include all its tables. `tables` is None if the
    affected tables cannot be determined.
    """

    error: BinlogError
    kind: str
    transaction: int
    content: bytes = b""
    tables_are_known: bool = True
    lsn: int | None = None
    tables: list[str] | None = None


def kind_of(error: BinlogError) -> str:
    """Return the kind of fault for an error."""
    return UNSUPPORTED if isinstance(error, UnsupportedError) else UNDECODABLE


def fault_of(
    window: Window,
    event: int,
    error: BinlogError,
    kind: str | None = None,
    *,
    tables_are_known: bool = False,
) -> Fault:
    """Return the fault of an event; its kind is that of the error unless another one is given."""
    offset, size, code = window.table[[OFFSET, SIZE, TYPE], event].tolist()
    error.at(position=int(window.position[event]), event_type=event_name(code))
    content = bytes(window.buffer[offset : offset + min(size, CONTENT_LIMIT)])
    transaction = int(window.transaction[event])
    return Fault(error, kind or kind_of(error), transaction, content, tables_are_known)


def cause_first(tables: list[str] | None, cause: str | None) -> list[str] | None:
    """Return a fault's tables with the one that caused it before those that wait for it."""
    if tables is None or cause not in tables:
        return tables
    return [cause, *(table for table in tables if table != cause)]


class FaultLog:
    """The faults of a segment that have not been reported yet."""

    def __init__(self, segment: Segment, session: Session) -> None:
        self._segment = segment
        self._session = session
        self._open: dict[int, Fault] = {}
        self._done: list[Fault] = []
        self._separate: set[tuple[int | None, int | None, str]] = set()
        self.first: BinlogError | None = None

    def add(self, fault: Fault) -> None:
        """Record a fault; they come in the order of the log.

        The first one of a transaction makes it faulty and is reported for it. DML that is logged as
        a statement does not; duplicates of it, from a payload that is decoded twice, are ignored.
        """
        fault.error.at(file=self._segment.file or None).kept()
        self.first = self.first or fault.error
        if fault.kind == STATEMENT_DML:
            self._add_separate(fault)
        elif fault.transaction < 0:
            position = fault.error.position or self._segment.start_pos
            fault.lsn = self._segment.ordinal << 40 | position
            self._done.append(fault)
        else:
            self._session.transactions[fault.transaction, FAULTY] = 1
            first = self._open.setdefault(fault.transaction, fault)
            first.tables_are_known = first.tables_are_known and fault.tables_are_known

    def extend(self, faults: Iterable[Fault]) -> None:
        """Record several faults."""
        for fault in faults:
            self.add(fault)

    def _add_separate(self, fault: Fault) -> None:
        fault.lsn = self._session.lsn(fault.transaction)
        place = (fault.lsn, fault.error.position, fault.error.reason)
        if place not in self._separate:
            self._separate.add(place)
            self._done.append(fault)

    def take(
        self, current: int, counts: npt.NDArray[np.int64], names: Iterable[str]
    ) -> pa.RecordBatch | None:
        """Return the faults of all transactions but `current`, which is renumbered to 0.

        `counts` and `names` determine their tables. None if there are no faults.
        """
        kept = self._open.pop(current, None)
        tables = list(names) if self._open else []
        for transaction, fault in sorted(self._open.items()):
            fault.lsn = self._session.lsn(transaction)
            if fault.tables_are_known:
                fault.tables = tables_of(counts, transaction, tables)
            self._done.append(fault)
        self._open = {} if kept is None else {0: kept}
        if not self._done:
            return None
        rows = [self._row(fault) for fault in self._done]
        self._done = []
        self._separate.clear()
        return pa.RecordBatch.from_pylist(rows, schema=schemas.FAULTS)

    def _row(self, fault: Fault) -> dict[str, Any]:
        return {
            "__lsn": fault.lsn,
            "__pos": fault.error.position or 0,
            "file": self._segment.file,
            "kind": fault.kind,
            "event_type": fault.error.event_type,
            "tables": cause_first(fault.tables, fault.error.table),
            "reason": _reason(fault.error),
            "content": fault.content[:CONTENT_LIMIT],
        }


def _reason(error: BinlogError) -> str:
    return error.reason if error.table is None else f"{error.table}: {error.reason}"
