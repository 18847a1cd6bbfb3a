"""JSON diffs in PARTIAL_UPDATE_ROWS: which cells are diffs, and the `__json_diff` of their rows.

Between the two images of a row is the shared image: options, and if these are 1 a bitmap with a bit
for each JSON column of the table, set if the after-image has diffs against the previous document
instead of the document.

Source: MySQL `sql/rpl_record.cc`, `unpack_row`, on the shared image.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from decoder.columns.arrays import integers, repeated
from decoder.columns.cells import CellError, Cells
from decoder.columns.json_diffs import read_json_diffs
from decoder.columns.values import without
from decoder.constants import ColumnType
from decoder.kernels.memory import Array, Bytes, kernel, load_u8
from decoder.model.definition import TableDefinition
from decoder.model.schemas import JSON_DIFF

_ENTRY = (pa.field("key", pa.string(), nullable=False), pa.field("value", pa.string()))


def json_places(definition: TableDefinition) -> list[int]:
    """Return the indices of the table's logged JSON columns, in the order of their bits."""
    logged = enumerate(definition.logged)
    return [place for place, column in logged if column.type == ColumnType.JSON]


def shared_bits(definition: TableDefinition) -> int:
    """Return the bytes of the bitmap in the shared image."""
    return (len(json_places(definition)) + 7) // 8


def take_diffs(
    definition: TableDefinition,
    buffer: Bytes,
    shared: npt.NDArray[np.int32],
    cells: list[Cells | None],
) -> pa.Array | None:
    """Remove diffs from an image's cells; return a map of diffs per row, None if there are none.

    `shared`: offsets of each row's options; `cells`: by column of the table, None for an absent
    column. Cells with diffs are NULL afterwards. Raises CellError for malformed diffs.
    """
    found: list[tuple[str, npt.NDArray[np.int64], pa.Array]] = []
    columns = {place: column for column, place in enumerate(definition.places)}
    for bit, place in enumerate(json_places(definition)):
        column = columns.get(place, -1)
        documents = cells[column] if column >= 0 else None
        if documents is None:
            continue
        partial = np.empty(len(shared), np.bool_)
        find_partial(buffer, shared, bit, partial)
        rows = np.flatnonzero(partial & (documents.positions >= 0))
        if len(rows):
            name = definition.columns[column].name
            found.append((name, rows, _texts(name, documents, rows)))
            cells[column] = without(documents, rows)
    return _maps(found, len(shared)) if found else None


def _texts(column: str, documents: Cells, rows: npt.NDArray[np.int64]) -> pa.Array:
    chosen = Cells(documents.buffer, documents.positions[rows], documents.lengths[rows], 0)
    try:
        return read_json_diffs(chosen)
    except CellError as error:
        reason = f"column {column}: {error.reason}"
        raise CellError(int(rows[error.row]), reason) from error


def _maps(found: list[tuple[str, npt.NDArray[np.int64], pa.Array]], rows: int) -> pa.Array:
    """Return the map array with the entries of all columns, grouped by row."""
    row_of = np.concatenate([of for _, of, _ in found])
    order = integers(np.argsort(row_of, kind="stable"))
    names = [repeated(column, len(of)) for column, of, _ in found]
    keys = pa.concat_arrays(names).take(order)
    values = pa.concat_arrays([texts for _, _, texts in found]).take(order)
    entries = pa.StructArray.from_arrays([keys, values], fields=list(_ENTRY))
    counts = np.bincount(row_of, minlength=rows)
    offsets = np.concatenate(([0], np.cumsum(counts))).astype(np.int32)
    bitmap = np.packbits(counts > 0, bitorder="little")
    return pa.Array.from_buffers(
        JSON_DIFF,
        rows,
        [pa.py_buffer(bitmap), pa.py_buffer(offsets)],
        int(np.count_nonzero(counts == 0)),
        0,
        [entries],
    )


@kernel
def find_partial(buffer: Bytes, shared: Array, bit: int, partial: Array) -> None:
    """Set `partial` for each row to whether the bit of a JSON column is set."""
    for row in range(len(shared)):
        position = shared[row]
        byte = load_u8(buffer, position + 1 + (bit >> 3))
        partial[row] = load_u8(buffer, position) == 1 and (byte >> (bit & 7)) & 1 == 1
