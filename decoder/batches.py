"""A block of cells to a RecordBatch of changes: the last step of pass 6.

Columns that are the same for all rows of a file or operation are made once and sliced; the rest of
what is known of a row as a change is written by one kernel into one buffer.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from decoder import schemas
from decoder.blocks import MAX_ROWS
from decoder.columns.arrays import allocate
from decoder.columns.cells import CellError, Cells, Column, ColumnReader
from decoder.columns.registry import reader
from decoder.definition import TableDefinition
from decoder.lossy import LossyValues
from decoder.memory import Array, Bytes, copy_32, kernel, store_8, store_32, store_64
from decoder.options import TypeOptions
from decoder.session import GTID, GTID_LENGTH, SERVER, START
from decoder.tables import META_COMMITTED, META_POSITION, META_ROW, META_TRANSACTION

OPERATIONS = ("insert", "update", "delete")
"""`__op` by the number of the operation."""

_NO_LENGTHS: npt.NDArray[np.int32] = np.zeros(0, np.int32)
_ABSENT = pa.nulls(MAX_ROWS, pa.list_(pa.string()))
_JSON_DIFF = pa.nulls(MAX_ROWS, pa.map_(pa.string(), pa.string()))
_OPERATION_ARRAYS = [pa.array([name] * MAX_ROWS, pa.string()) for name in OPERATIONS]


@dataclass(frozen=True, slots=True)
class Images:
    """The images of a block's rows, before or after, and what of them is not as it was logged."""

    array: pa.StructArray
    lossy: tuple[LossyValues, ...] = ()


class TableReader:
    """Builds the images of one table definition; made once per definition."""

    def __init__(self, definition: TableDefinition, options: TypeOptions) -> None:
        self.definition = definition
        key = frozenset(definition.primary_key)
        self.readers: list[ColumnReader] = [
            reader(column, options, key=index in key)
            for index, column in enumerate(definition.columns)
        ]
        self._places = definition.places
        self.row_type = pa.struct(
            [
                pa.field(column.name, column_reader.arrow_type)
                for column, column_reader in zip(definition.columns, self.readers, strict=True)
            ]
        )
        self.schema = schemas.changes(self.row_type)

    @cached_property
    def _no_images(self) -> pa.StructArray:
        return pa.nulls(MAX_ROWS, self.row_type)

    def no_images(self, rows: int) -> Images:
        """The images that an insert has not before it, and a delete not after it."""
        return Images(self._no_images.slice(0, rows))

    def images(
        self,
        buffer: Bytes,
        positions: npt.NDArray[np.int32],
        lengths: npt.NDArray[np.int32],
        nulls: list[int],
        variable: list[int],
    ) -> Images:
        """The struct of a block's cells, as `decoder.locate` gives them; CellError for a bad one.

        `variable`: for each logged column the row of `lengths` that is its, or −1.
        """
        children = [
            self._child(
                column,
                Cells(
                    buffer,
                    positions[place],
                    lengths[variable[place]] if variable[place] >= 0 else _NO_LENGTHS,
                    nulls[place],
                ),
            )
            for column, place in enumerate(self._places)
        ]
        rows = positions.shape[1]
        arrays = [child.array for child in children]
        return Images(
            pa.Array.from_buffers(self.row_type, rows, [None], 0, 0, arrays),
            tuple(
                LossyValues(column.name, child.lossy)
                for column, child in zip(self.definition.columns, children, strict=True)
                if len(child.lossy)
            ),
        )

    def _child(self, column: int, cells: Cells) -> Column:
        try:
            return self.readers[column].read(cells)
        except CellError as error:
            name = self.definition.columns[column].name
            error.reason = f"column {name}: {error.reason}"
            raise


@dataclass(frozen=True, slots=True)
class Origin:
    """Where all rows of a segment come from: the file, as a column, and its place in the log."""

    file: pa.StringArray
    ordinal: int

    @classmethod
    def of(cls, file: str, ordinal: int) -> Origin:
        """For a file's name and ordinal."""
        return cls(pa.array([file] * MAX_ROWS, pa.string()), ordinal)


def changes_batch(
    table: TableReader,
    origin: Origin,
    operation: int,
    meta: npt.NDArray[np.int64],
    transactions: npt.NDArray[np.int64],
    gtids: npt.NDArray[np.uint8],
    images: tuple[Images, Images],
) -> pa.RecordBatch:
    """The batch of `decoder.schemas.changes`; `meta` has a row for each change."""
    rows = len(meta)
    words = 8 * rows
    room = (words + 63) & ~63
    data, view = allocate(4 * room + 2 * ((4 * rows + 67) & ~63) + (rows + 63) // 64 * 8)
    starts = [0, room, 2 * room, 3 * room, 4 * room]
    starts.append(starts[-1] + ((4 * rows + 67) & ~63))
    starts.append(starts[-1] + ((4 * rows + 67) & ~63))
    text_length, missing = gtid_length(meta, transactions)
    text, text_view = allocate(text_length)
    write_origin(meta, transactions, gtids, origin.ordinal, view, np.array(starts), text_view)

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
    absent = _ABSENT.slice(0, rows)
    columns = [
        _OPERATION_ARRAYS[operation].slice(0, rows),
        fixed(pa.int64(), 0, words),
        fixed(pa.int64(), 1, words),
        fixed(pa.int32(), 4, 4 * rows),
        fixed(schemas.TIMESTAMP, 2, words),
        gtid,
        fixed(pa.int64(), 3, words),
        origin.file.slice(0, rows),
        absent,
        absent,
        _JSON_DIFF.slice(0, rows),
        *(image.array for image in images),
    ]
    return pa.RecordBatch.from_arrays(columns, schema=table.schema)


@kernel
def gtid_length(meta: Array, transactions: Array) -> tuple[int, int]:
    """Bytes of the GTIDs of a block's rows, and how many rows have none."""
    total = 0
    missing = 0
    for row in range(meta.shape[0]):
        length = transactions[meta[row, META_TRANSACTION], GTID_LENGTH]
        total += length
        missing += length == 0
    return total, missing


@kernel
def write_origin(
    meta: Array,
    transactions: Array,
    gtids: Bytes,
    ordinal: int,
    data: Bytes,
    starts: Array,
    text: Bytes,
) -> None:
    """What a block's rows are as changes, into `data` at `starts`.

    In order: LSN, position, time, server id (8 bytes each), number in the event, GTID offsets (4),
    GTID validity (a bit); the GTIDs' bytes go to `text`, which has slack behind it.
    """
    lsn, position, time, server = starts[0], starts[1], starts[2], starts[3]
    number, offsets, validity = starts[4], starts[5], starts[6]
    written = 0
    bits = 0
    for row in range(meta.shape[0]):
        transaction = meta[row, META_TRANSACTION]
        store_64(data, lsn + 8 * row, ordinal << 40 | transactions[transaction, START])
        store_64(data, position + 8 * row, meta[row, META_POSITION])
        store_64(data, time + 8 * row, meta[row, META_COMMITTED])
        store_64(data, server + 8 * row, transactions[transaction, SERVER])
        store_32(data, number + 4 * row, meta[row, META_ROW])
        store_32(data, offsets + 4 * row, written)
        length = transactions[transaction, GTID_LENGTH]
        start = transactions[transaction, GTID]
        copied = 0
        while copied < length:
            copy_32(text, written + copied, gtids, start + copied)
            copied += 32
        written += length
        bits |= int(length > 0) << (row & 7)
        if row & 7 == 7:
            store_8(data, validity + (row >> 3), bits)
            bits = 0
    store_32(data, offsets + 4 * meta.shape[0], written)
    store_8(data, validity + (meta.shape[0] >> 3), bits)
