"""Faults: what could not be decoded, collected while decoding and reported once per transaction.

A transaction with a fault is flagged in the table of transactions, so that kernels skip its rows
and rows already in a batch are dropped. It is reported when it ends, because only then all its
TABLE_MAPs, and so all the tables that it changes, are known.

DML that is logged as a statement is different: the transaction's logged rows are complete, and each
statement is reported separately, since each has its own tables (which the decoder does not read).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from decoder.errors import BinlogError, UnsupportedError
from decoder.model import schemas

CONTENT_LIMIT = 1 << 16
"""The most bytes of an event that a fault contains."""

UNDECODABLE, UNSUPPORTED = "undecodable", "unsupported"
STATEMENT_DML, INCIDENT, LOSSY_KEY = "statement", "incident", "lossy_key"


@dataclass(slots=True)
class Fault:
    """A fault; `tables` is None if the affected tables cannot be determined."""

    error: BinlogError
    kind: str
    content: bytes
    lsn: int | None = None
    tables: list[str] | None = None
    tables_are_known: bool = True


def cause_first(tables: list[str] | None, cause: str | None) -> list[str] | None:
    """Return a fault's tables with the one that caused it before those that wait for it."""
    if tables is None or cause not in tables:
        return tables
    return [cause, *(table for table in tables if table != cause)]


def kind_of(error: BinlogError) -> str:
    """Return the kind of fault for an error."""
    return UNSUPPORTED if isinstance(error, UnsupportedError) else UNDECODABLE


class FaultLog:
    """The faults of a segment that have not been reported yet."""

    def __init__(self, file: str) -> None:
        self._file = file
        self._open: dict[int, Fault] = {}
        self._done: list[Fault] = []
        self._separate: set[tuple[int | None, int | None, str]] = set()
        self.first: BinlogError | None = None

    def add_separate(self, fault: Fault) -> None:
        """Record a fault that does not affect the rest of its transaction, which may have several.

        Duplicates, from a payload that is decoded twice, are ignored.
        """
        self._note(fault)
        place = (fault.lsn, fault.error.position, fault.error.reason)
        if place not in self._separate:
            self._separate.add(place)
            self._done.append(fault)

    def add(self, transaction: int, fault: Fault) -> None:
        """Record the first fault of a transaction; −1: a fault outside of transactions."""
        self._note(fault)
        if transaction < 0:
            fault.tables = None
            self._done.append(fault)
        elif transaction not in self._open:
            self._open[transaction] = fault
        elif not fault.tables_are_known:
            self._open[transaction].tables_are_known = False

    def _note(self, fault: Fault) -> None:
        fault.error.at(file=self._file or None).kept()
        if self.first is None:
            self.first = fault.error

    def close(
        self,
        current: int,
        lsn: Callable[[int], int],
        tables: Callable[[int], list[str] | None],
    ) -> None:
        """Complete the faults of all transactions but `current`, and renumber that one to 0."""
        for transaction in sorted(self._open):
            if transaction == current:
                continue
            fault = self._open[transaction]
            fault.lsn = lsn(transaction)
            fault.tables = tables(transaction) if fault.tables_are_known else None
            self._done.append(fault)
        self._open = {0: self._open[current]} if current in self._open else {}

    def take(self) -> pa.RecordBatch | None:
        """Return the faults that were completed since the last call; None if there are none."""
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
            "file": self._file,
            "kind": fault.kind,
            "event_type": fault.error.event_type,
            "tables": cause_first(fault.tables, fault.error.table),
            "reason": _reason(fault.error),
            "content": fault.content[:CONTENT_LIMIT],
        }


def _reason(error: BinlogError) -> str:
    return error.reason if error.table is None else f"{error.table}: {error.reason}"
