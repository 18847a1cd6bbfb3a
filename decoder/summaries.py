"""The table of transactions to a batch of `decoder.schemas.TRANSACTIONS`, in whole columns."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from decoder import schemas
from decoder.columns.arrays import integers, strings
from decoder.session import (
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

Integers = npt.NDArray[np.int64]
Ranges = dict[int, list[tuple[int, int]]]
"""By transaction, the [start, end) positions that a ROLLBACK TO undid."""

_ROLLED_BACK = schemas.TRANSACTIONS.field("rolled_back").type


def transactions_batch(
    rows: Integers,
    gtids: npt.NDArray[np.uint8],
    *,
    file: str,
    ordinal: int,
    counts: Integers | None,
    names: list[str],
    ranges: Ranges,
) -> pa.RecordBatch:
    """One row for each of `rows` (of the table of transactions).

    `counts`: (transaction, table, rows), tables as indexes of `names`; None where rows were not
    walked. `ranges` are those of transactions that were not rolled back as a whole.
    """
    lsn = (ordinal << 40) | rows[:, START]
    ended = rows[:, STOP] >= 0
    committed = np.where(rows[:, COMMITTED] >= 0, rows[:, COMMITTED], rows[:, SECOND] * 1_000_000)
    original = np.where(rows[:, ORIGINAL] >= 0, rows[:, ORIGINAL], committed)
    columns = [
        integers(lsn),
        strings([file] * len(rows)),
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
        _rolled_back(rows, ranges),
    ]
    return pa.RecordBatch.from_arrays(columns, schema=schemas.TRANSACTIONS)


def _nullable(values: Integers, valid: npt.NDArray[np.bool_]) -> pa.Array:
    validity = pa.py_buffer(np.packbits(valid, bitorder="little"))
    data = pa.py_buffer(values.tobytes())
    return pa.Array.from_buffers(pa.int64(), len(values), [validity, data])


def _texts(rows: Integers, gtids: npt.NDArray[np.uint8]) -> pa.Array:
    """GTIDs. They mostly stand in `gtids` one behind the other, as an Arrow array has them."""
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
    """A map from table to rows for each transaction."""
    if counts is None:
        return pa.nulls(length, schemas.TABLE_COUNTS)
    counts = counts[(counts[:, 2] > 0) & (counts[:, 1] >= 0)]
    width = len(names) + 1
    keys, index = np.unique(counts[:, 0] * width + counts[:, 1], return_inverse=True)
    totals = np.zeros(len(keys), np.int64)
    np.add.at(totals, index.reshape(-1), counts[:, 2])
    offsets = np.searchsorted(keys, np.arange(length + 1) * width).astype(np.int32)
    tables = strings(names).take(integers(keys % width))
    return pa.MapArray.from_arrays(integers(offsets), tables, integers(totals))


def _rolled_back(rows: Integers, ranges: Ranges) -> pa.Array:
    whole = rows[:, ROLLED_BACK] > 0
    if not ranges and not whole.any():
        return pa.nulls(len(rows), _ROLLED_BACK)
    values: list[list[dict[str, Any]] | None] = [None] * len(rows)
    for index, spans in ranges.items():
        values[index] = [{"start": start, "end": end} for start, end in spans]
    for index in np.flatnonzero(whole).tolist():
        start, end = int(rows[index, START]), int(rows[index, STOP])
        values[index] = [{"start": start, "end": end}]
    return pa.array(values, _ROLLED_BACK)
