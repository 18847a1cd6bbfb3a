"""Conversion of the table of transactions to a batch of `decoder.model.schemas.TRANSACTIONS`.

See `decoder.transactions.counting` for the source of the columns about foreign keys.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from decoder.columns.arrays import integers, repeated, strings
from decoder.model import schemas
from decoder.transactions import records as t
from decoder.transactions.state import (
    BYTES,
    COMMITTED,
    GTID,
    GTID_LENGTH,
    HAS_XID,
    ORIGINAL,
    PREPARED,
    ROLLED_BACK,
    SECOND,
    SERVER,
    START,
    STOP,
    XID,
)
from decoder.transactions.xa import Xa

Integers = npt.NDArray[np.int64]
_CASCADES = ("logged", "unlogged", "mixed")
_SPANS = schemas.TRANSACTIONS.field("rolled_back").type
_END = (1 << 63) - 1


@dataclass(frozen=True, slots=True)
class RowSpan:
    """A range [`start`, `end`) of rows: of their events' file positions or, `inside` a payload, of
    their numbers."""

    start: int
    end: int
    inside: bool = False


@dataclass(slots=True)
class TransactionDetails:
    """Details of transactions from single events, by transaction.

    `rolled_back`: the rows rolled back by ROLLBACK TO; `xa`: its role in an XA transaction.
    """

    rolled_back: dict[int, list[RowSpan]] = field(default_factory=dict)
    xa: dict[int, Xa] = field(default_factory=dict)

    def of(self, transactions: int) -> TransactionDetails:
        """Return a copy of the details of the first `transactions` ones."""
        return TransactionDetails(
            {index: list(rows) for index, rows in self.rolled_back.items() if index < transactions},
            {index: xa for index, xa in self.xa.items() if index < transactions},
        )

    def only(self, transaction: int) -> TransactionDetails:
        """Return the details of one transaction (−1: none), renumbered to 0."""
        return TransactionDetails(
            {0: self.rolled_back[transaction]} if transaction in self.rolled_back else {},
            {0: self.xa[transaction]} if transaction in self.xa else {},
        )


def transactions_batch(
    rows: Integers,
    gtids: npt.NDArray[np.uint8],
    *,
    file: str,
    ordinal: int,
    counts: Integers | None,
    names: list[str],
    details: TransactionDetails,
) -> pa.RecordBatch:
    """Return a batch with a row for each of `rows` (of the table of transactions).

    `counts`: rows of `COUNT_…`, with tables as indices of `names`; None if rows were not walked.
    """
    lsn = (ordinal << 40) | rows[:, START]
    ended = rows[:, STOP] >= 0
    committed = np.where(rows[:, COMMITTED] >= 0, rows[:, COMMITTED], rows[:, SECOND] * 1_000_000)
    original = np.where(rows[:, ORIGINAL] >= 0, rows[:, ORIGINAL], committed)
    columns = [
        integers(lsn),
        repeated(file, len(rows)),
        integers(rows[:, START]),
        _nullable(rows[:, STOP], ended),
        _texts(rows, gtids),
        _nullable(rows[:, XID], rows[:, HAS_XID] > 0),
        integers(rows[:, SERVER]),
        integers(committed).cast(schemas.TIMESTAMP),
        integers(original).cast(schemas.TIMESTAMP),
        _counts(len(rows), counts, names),
        integers(rows[:, BYTES]),
        _nullable(lsn, ended & (rows[:, PREPARED] == 0)),
        *_rolled_back(rows, details.rolled_back),
        *_cascades(len(rows), counts),
        _of_each(len(rows), {index: xa.name for index, xa in details.xa.items()}),
        _of_each(len(rows), {index: xa.end for index, xa in details.xa.items()}),
    ]
    return pa.RecordBatch.from_arrays(columns, schema=schemas.TRANSACTIONS)


def _nullable(values: Integers, valid: npt.NDArray[np.bool_]) -> pa.Array:
    validity = pa.py_buffer(np.packbits(valid, bitorder="little"))
    data = pa.py_buffer(values.tobytes())
    return pa.Array.from_buffers(pa.int64(), len(values), [validity, data])


def _texts(rows: Integers, gtids: npt.NDArray[np.uint8]) -> pa.Array:
    """Return the GTIDs; in `gtids` they are usually consecutive, as in an Arrow array."""
    lengths = rows[:, GTID_LENGTH]
    named = lengths > 0
    offsets = np.zeros(len(rows) + 1, np.int32)
    np.cumsum(lengths, out=offsets[1:])
    starts = rows[named, GTID]
    first = int(starts[0]) if len(starts) else 0
    if not np.array_equal(starts - first, offsets[:-1][named]):
        return _scattered_texts(rows, gtids)
    data = gtids[first : first + int(offsets[-1])].tobytes()
    validity = pa.py_buffer(np.packbits(named, bitorder="little").tobytes())
    buffers = [validity, pa.py_buffer(offsets.tobytes()), pa.py_buffer(data)]
    return pa.Array.from_buffers(pa.string(), len(rows), buffers)


def _scattered_texts(rows: Integers, gtids: npt.NDArray[np.uint8]) -> pa.Array:
    spans = zip(rows[:, GTID].tolist(), rows[:, GTID_LENGTH].tolist(), strict=True)
    values = [bytes(gtids[at : at + length]).decode() if length else None for at, length in spans]
    return strings(values)


def _counts(length: int, counts: Integers | None, names: list[str]) -> pa.Array:
    """Return a map of table to number of rows for each transaction."""
    if counts is None:
        return pa.nulls(length, schemas.TABLE_COUNTS)
    counts = counts[(counts[:, t.COUNT_ROWS] > 0) & (counts[:, t.COUNT_TABLE] >= 0)]
    width = len(names) + 1
    owners = counts[:, t.COUNT_TRANSACTION] * width + counts[:, t.COUNT_TABLE]
    keys, index = np.unique(owners, return_inverse=True)
    totals = np.zeros(len(keys), np.int64)
    np.add.at(totals, index.reshape(-1), counts[:, t.COUNT_ROWS])
    offsets = np.searchsorted(keys, np.arange(length + 1) * width).astype(np.int32)
    tables = strings(names).take(integers(keys % width))
    return pa.MapArray.from_arrays(integers(offsets), tables, integers(totals))


def _of_each(length: int, texts: Mapping[int, str]) -> pa.Array:
    """Return a column of `length` rows with the texts of some of them."""
    if not texts:
        return pa.nulls(length, pa.string())
    return strings([texts.get(index) for index in range(length)])


def _rolled_back(rows: Integers, by_savepoint: Mapping[int, list[RowSpan]]) -> list[pa.Array]:
    """Return the columns of rolled-back spans: by position, and by row number in payloads."""
    whole = np.flatnonzero(rows[:, ROLLED_BACK] > 0).tolist()
    found = {
        **by_savepoint,
        **{index: [RowSpan(int(rows[index, START]), int(rows[index, STOP]))] for index in whole},
    }
    return _spans_by_place(len(rows), found)


def _spans_by_place(length: int, spans: Mapping[int, Sequence[RowSpan]]) -> list[pa.Array]:
    """Return two columns of `length` transactions: spans by position, and spans by row number."""
    by_position = {index: [s for s in some if not s.inside] for index, some in spans.items()}
    by_row = {index: [s for s in some if s.inside] for index, some in spans.items()}
    return [_span_column(length, by_position), _span_column(length, by_row)]


def _span_column(length: int, spans: Mapping[int, Sequence[RowSpan]]) -> pa.Array:
    """Return a list of spans per transaction; null for those without."""
    if not any(spans.values()):
        return pa.nulls(length, _SPANS)
    values: list[list[dict[str, int]] | None] = [None] * length
    for index, some in spans.items():
        values[index] = [{"start": span.start, "end": span.end} for span in some] or None
    return pa.array(values, _SPANS)


def _cascades(transactions: int, counts: Integers | None) -> list[pa.Array]:
    """Return `cascades`, `cascades_logged` and `cascades_logged_rows` for `transactions` rows.

    `counts`: rows of `COUNT_…` in the order of the log; None if rows were not walked.
    """
    if counts is None:
        return [pa.nulls(transactions, pa.string()), *_spans_by_place(transactions, {})]
    has_rows = counts[:, t.COUNT_CASCADES] != t.UNDETERMINED
    known = counts[has_rows & (counts[:, t.COUNT_TRANSACTION] >= 0)]
    known = known[known[:, t.COUNT_TRANSACTION] < transactions]
    owners = known[:, t.COUNT_TRANSACTION]
    logged, unlogged = (
        np.bincount(owners[known[:, t.COUNT_CASCADES] == kind], minlength=transactions) > 0
        for kind in (t.LOGGED, t.UNLOGGED)
    )
    kinds = np.where(logged & unlogged, 2, unlogged).astype(np.int64)
    named = pa.array(kinds, mask=~(logged | unlogged))
    mixed = np.flatnonzero(logged & unlogged).tolist()
    spans = {index: _logged_spans(known[owners == index]) for index in mixed}
    return [strings(_CASCADES).take(named), *_spans_by_place(transactions, spans)]


def _logged_spans(counts: Integers) -> list[RowSpan]:
    """Return the spans of a mixed transaction in which changes by foreign keys are logged."""
    positions = counts[:, t.COUNT_POSITION]
    inside = bool((positions == positions[0]).all())
    starts = counts[:, t.COUNT_ROW if inside else t.COUNT_POSITION]
    ends = np.append(starts[1:], _END)
    logged = counts[:, t.COUNT_CASCADES] == t.LOGGED
    return [
        RowSpan(start, end, inside)
        for start, end in zip(starts[logged].tolist(), ends[logged].tolist(), strict=True)
    ]
