"""What could not be decoded: collected while decoding, reported once per transaction.

A transaction with a fault is marked in the table of transactions, so that kernels leave out its
rows and batches drop those that they have. It is reported when its end is reached, because only
then all its TABLE_MAPs, and so all the tables that it touches, are known.

DML that is logged as a statement is another case: the rows beside it are whole, and each statement
is told by itself, since each names its own tables (which the decoder does not read).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from decoder.errors import BinlogError, UnsupportedError
from decoder.model import schemas

CONTENT_LIMIT = 1 << 16
"""Bytes of an event at fault that are reported."""

UNDECODABLE, UNSUPPORTED = "undecodable", "unsupported"
STATEMENT_DML, INCIDENT, LOSSY_KEY = "statement", "incident", "lossy_key"


@dataclass(slots=True)
class Fault:
    """One fault; `tables` None: it cannot be known which are touched."""

    error: BinlogError
    kind: str
    content: bytes
    lsn: int | None = None
    tables: list[str] | None = None
    tables_are_known: bool = True


def cause_first(tables: list[str] | None, cause: str | None) -> list[str] | None:
    """The tables of a fault, with the one that it is in before those that wait for it."""
    if tables is None or cause not in tables:
        return tables
    return [cause, *(table for table in tables if table != cause)]


def kind_of(error: BinlogError) -> str:
    """The kind of a fault that an error stands for."""
    return UNSUPPORTED if isinstance(error, UnsupportedError) else UNDECODABLE


class FaultLog:
    """The faults of a segment that are not reported yet."""

    def __init__(self, file: str) -> None:
        self._file = file
        self._open: dict[int, Fault] = {}
        self._done: list[Fault] = []
        self._told: set[tuple[int | None, int | None, str]] = set()
        self.first: BinlogError | None = None

    def tell(self, fault: Fault) -> None:
        """Notes a fault that leaves its transaction as it is, which may have many.

        A payload that is decoded twice is told of once.
        """
        self._note(fault)
        place = (fault.lsn, fault.error.position, fault.error.reason)
        if place not in self._told:
            self._told.add(place)
            self._done.append(fault)

    def add(self, transaction: int, fault: Fault) -> None:
        """Notes a transaction's fault, if it is its first; −1: of no transaction."""
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
        """All transactions but `current` have ended; it is transaction 0 from now on."""
        for transaction in sorted(self._open):
            if transaction == current:
                continue
            fault = self._open[transaction]
            fault.lsn = lsn(transaction)
            fault.tables = tables(transaction) if fault.tables_are_known else None
            self._done.append(fault)
        self._open = {0: self._open[current]} if current in self._open else {}

    def take(self) -> pa.RecordBatch | None:
        """The faults that were closed since the last call; None where there are none."""
        if not self._done:
            return None
        rows = [self._row(fault) for fault in self._done]
        self._done = []
        self._told.clear()
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
