"""The RecordBatch of changes for a block of rows: the last step of pass 6.

Columns that are constant for a file or operation are built once and sliced; the other metadata
columns of a change are written by one kernel into one buffer.
"""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from decoder.columns.arrays import allocate, integers, repeated, strings
from decoder.kernels.memory import (
    Array,
    Bytes,
    copy_32,
    inline_kernel,
    kernel,
    store_8,
    store_32,
    store_64,
)
from decoder.model import schemas
from decoder.rows.blocks import MAX_ROWS, Spans
from decoder.rows.images import Images, TableReader
from decoder.transactions import records as t
from decoder.transactions.state import GTID, GTID_LENGTH, SERVER, START, Session

OPERATIONS = ("insert", "update", "delete")
"""`__op` by the number of the operation."""

_NONE_ABSENT = pa.nulls(MAX_ROWS, pa.list_(pa.string()))
_NO_DIFFS = pa.nulls(MAX_ROWS, schemas.JSON_DIFF)
_OPERATION_ARRAYS = [repeated(name, MAX_ROWS) for name in OPERATIONS]


def changes_batch(
    table: TableReader,
    file: pa.StringArray,
    operation: int,
    spans: Spans,
    session: Session,
    images: tuple[Images, Images],
) -> pa.RecordBatch:
    """Return a batch of `decoder.model.schemas.changes`.

    `file`: the file's name, `MAX_ROWS` times; `spans`: those of the batch's rows.
    """
    rows = int(spans[-1, t.SPAN_END])
    words = 8 * rows
    room = (words + 63) & ~63
    data, view = allocate(4 * room + 2 * ((4 * rows + 67) & ~63) + (rows + 63) // 64 * 8)
    starts = [0, room, 2 * room, 3 * room, 4 * room]
    starts.append(starts[-1] + ((4 * rows + 67) & ~63))
    starts.append(starts[-1] + ((4 * rows + 67) & ~63))
    text_length, missing = gtid_length(spans, session.transactions)
    text, text_view = allocate(text_length)
    write_origin(
        spans,
        session.transactions,
        session.gtids,
        session.ordinal,
        view,
        np.array(starts),
        text_view,
    )

    def fixed(kind: pa.DataType, index: int, size: int) -> pa.Array:
        return pa.Array.from_buffers(kind, rows, [None, data.slice(starts[index], size)], 0)

    gtid = pa.Array.from_buffers(
        pa.string(),
        rows,
        [
            data.slice(starts[6], (rows + 7) // 8) if missing else None,
            data.slice(starts[5], 4 * rows + 4),
            text.slice(0, text_length),
        ],
        missing,
    )
    columns = [
        _OPERATION_ARRAYS[operation].slice(0, rows),
        fixed(pa.int64(), 0, words),
        fixed(pa.int64(), 1, words),
        fixed(pa.int32(), 4, 4 * rows),
        fixed(schemas.TIMESTAMP, 2, words),
        gtid,
        fixed(pa.int64(), 3, words),
        file.slice(0, rows),
        *(_absent(image, rows) for image in images),
        _NO_DIFFS.slice(0, rows) if images[1].diffs is None else images[1].diffs,
        *(image.array for image in images),
    ]
    return pa.RecordBatch.from_arrays(columns, schema=table.schema)


def _absent(image: Images, rows: int) -> pa.Array:
    """Return a column with the absent columns' names in each row; null if none is absent."""
    count = len(image.absent)
    if not count:
        return _NONE_ABSENT.slice(0, rows)
    each = integers(np.tile(np.arange(count), rows))
    offsets = integers(np.arange(0, count * rows + 1, count, dtype=np.int32))
    return pa.ListArray.from_arrays(offsets, strings(image.absent).take(each))


@kernel
def gtid_length(spans: Array, transactions: Array) -> tuple[int, int]:
    """Return the bytes of the GTIDs of a block's rows, and the number of rows without one."""
    total, missing, row = 0, 0, 0
    for span in range(spans.shape[0]):
        length = transactions[spans[span, t.SPAN_TRANSACTION], GTID_LENGTH]
        rows = spans[span, t.SPAN_END] - row
        total += rows * length
        missing += rows * int(length == 0)
        row += rows
    return total, missing


@kernel
def write_origin(
    spans: Array,
    transactions: Array,
    gtids: Bytes,
    ordinal: int,
    data: Bytes,
    starts: Array,
    text: Bytes,
) -> None:
    """Write the metadata columns of a block's rows into `data` at the offsets `starts`.

    In order: LSN, position, time, server id (8 bytes each), number in the event, GTID offsets (4),
    GTID validity (a bit); the GTIDs' bytes go to `text`, which is followed by slack.
    """
    row, written = 0, 0
    for span in range(spans.shape[0]):
        end = spans[span, t.SPAN_END]
        transaction = spans[span, t.SPAN_TRANSACTION]
        lsn = ordinal << 40 | transactions[transaction, START]
        fill_64(data, starts[0], row, end, lsn)
        fill_64(data, starts[1], row, end, spans[span, t.SPAN_POSITION])
        fill_64(data, starts[2], row, end, spans[span, t.SPAN_COMMITTED])
        fill_64(data, starts[3], row, end, transactions[transaction, SERVER])
        first_number = spans[span, t.SPAN_FIRST_NUMBER] - row
        length = transactions[transaction, GTID_LENGTH]
        start = transactions[transaction, GTID]
        for change in range(row, end):
            store_32(data, starts[4] + 4 * change, first_number + change)
            store_32(data, starts[5] + 4 * change, written)
            copied = 0
            while copied < length:
                copy_32(text, written + copied, gtids, start + copied)
                copied += 32
            written += length
        row = end
    store_32(data, starts[5] + 4 * row, written)
    write_validity(spans, transactions, data, starts[6])


@inline_kernel
def fill_64(data: Bytes, start: int, row: int, end: int, value: int) -> None:
    """Write the same 8-byte value to rows [`row`, `end`) of a column."""
    for position in range(start + 8 * row, start + 8 * end, 8):
        store_64(data, position, value)


@kernel
def write_validity(spans: Array, transactions: Array, data: Bytes, start: int) -> None:
    """Write the validity bitmap of GTIDs: a bit for each row whose transaction has one."""
    row, bits = 0, 0
    for span in range(spans.shape[0]):
        valid = int(transactions[spans[span, t.SPAN_TRANSACTION], GTID_LENGTH] > 0)
        while row < spans[span, t.SPAN_END]:
            bits |= valid << (row & 7)
            if row & 7 == 7:
                store_8(data, start + (row >> 3), bits)
                bits = 0
            row += 1
    store_8(data, start + (row >> 3), bits)
