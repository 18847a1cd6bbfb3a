"""JSON diffs, which PARTIAL_UPDATE_ROWS logs instead of a document, as JSON text.

A cell is a sequence of diffs: the operation, u8 (0 replace, 1 insert, 2 remove); the path's length
(length-encoded) and the path in UTF-8; and, except for remove, the value's length (length-encoded)
and the value in binary JSON. The text is an array of objects {"op", "path", "value"} in the same
order; remove has no value.

Source: MySQL `sql-common/json_diff.cc`, `Json_diff::write_binary`.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from decoder.columns.arrays import Int32s, allocate, allocate_text
from decoder.columns.cells import CellError, Cells
from decoder.columns.json import JsonReader
from decoder.columns.json_text import WORST_ESCAPE, write_string
from decoder.columns.utf8 import is_utf8
from decoder.kernels.memory import (
    Bytes,
    copy_32,
    inline_kernel,
    item,
    kernel,
    load_i64,
    load_u8,
    load_u16,
    load_u24,
    store_8,
    store_32,
    store_64,
)

_OPERATIONS = ("replace", "insert", "remove")
_REMOVE = 2
# Columns of the table of diffs, an int32 array with one row per diff.
_ROW, _OPERATION, _PATH, _PATH_LENGTH, _VALUE, _VALUE_LENGTH = range(6)
_FIELDS = 6
_HEAD_WIDTH = 32
_HEAD_TEXTS = [f'{{"op":"{operation}","path":'.encode() for operation in _OPERATIONS]
_HEAD_LENGTHS: npt.NDArray[np.int64] = np.array([len(text) for text in _HEAD_TEXTS], np.int64)
_HEADS: npt.NDArray[np.uint8] = np.frombuffer(
    b"".join(text.ljust(_HEAD_WIDTH) for text in _HEAD_TEXTS), np.uint8
)
_MAX_OVERHEAD = max(map(len, _HEAD_TEXTS)) + len(',"value":},') + len('""')
"""The most bytes that a diff has besides its path and value."""


def read_json_diffs(cells: Cells) -> pa.StringArray:
    """Return the text of each cell; none may be NULL. CellError for a malformed cell."""
    rows = len(cells.positions)
    diffs = _find_all(cells)
    values = _values(cells, diffs)
    size = 2 * rows + _MAX_OVERHEAD * len(diffs) + values.nbytes
    size += WORST_ESCAPE * int(diffs[:, _PATH_LENGTH].sum(dtype=np.int64))
    offsets, ends = allocate(4 * (rows + 1))
    data, text = allocate_text(size)
    _, value_ends, value_text = values.buffers()
    write_diffs(
        cells.buffer,
        diffs,
        np.frombuffer(value_ends, np.int32),
        np.frombuffer(value_text, np.uint8),
        rows,
        ends,
        text,
    )
    return pa.Array.from_buffers(pa.string(), rows, [None, offsets, data], 0)


def _find_all(cells: Cells) -> Int32s:
    """Return the table of diffs."""
    nothing = np.empty((0, _FIELDS), np.int32)
    count = find_diffs(cells.buffer, cells.positions, cells.lengths, nothing)
    if count < 0:
        raise CellError(-1 - count, "malformed JSON diffs")
    diffs = np.empty((count, _FIELDS), np.int32)
    find_diffs(cells.buffer, cells.positions, cells.lengths, diffs)
    return diffs


def _values(cells: Cells, diffs: Int32s) -> pa.StringArray:
    """Return the values of all diffs as JSON text, null for remove."""
    positions, lengths = diffs[:, _VALUE].copy(), diffs[:, _VALUE_LENGTH].copy()
    found = Cells(cells.buffer, positions, lengths, int(np.count_nonzero(positions < 0)))
    try:
        return JsonReader().read(found).array
    except CellError as error:
        raise CellError(int(diffs[error.row, _ROW]), error.reason) from error


@kernel
def find_diffs(buffer: Bytes, positions: Int32s, lengths: Int32s, diffs: Int32s) -> int:
    """Fill the table of diffs as far as it has room.

    Returns the number of diffs, or −1 − row for the first malformed row.
    """
    count = 0
    for row in range(len(positions)):
        position = int(item(positions, row))
        end = position + item(lengths, row)
        while position < end:
            operation = load_u8(buffer, position)
            path, path_length = _read_length(buffer, position + 1, end)
            position = path + path_length
            value, value_length = -1, 0
            if operation < _REMOVE and path >= 0:
                value, value_length = _read_length(buffer, position, end)
                position = value + value_length
            if operation > _REMOVE or path_length < 1 or (operation < _REMOVE and value < 0):
                return -1 - row
            if not is_utf8(buffer, path, path + path_length):
                return -1 - row
            if count < diffs.shape[0]:
                diffs[count, _ROW] = row
                diffs[count, _OPERATION] = operation
                diffs[count, _PATH] = path
                diffs[count, _PATH_LENGTH] = path_length
                diffs[count, _VALUE] = value
                diffs[count, _VALUE_LENGTH] = value_length
            count += 1
    return count


@inline_kernel
def _read_length(buffer: Bytes, position: int, end: int) -> tuple[int, int]:
    """Read a length-encoded length: (position of the content, length), or (−1, 0).

    (−1, 0) is returned if the content would extend beyond `end`. Lengths take 1, 3, 4 or 9 bytes
    (`net_field_length_ll`).
    """
    if position >= end:
        return -1, 0
    length = load_u8(buffer, position)
    start = position + 1
    if length == 252:
        length, start = load_u16(buffer, position + 1), position + 3
    elif length == 253:
        length, start = load_u24(buffer, position + 1), position + 4
    elif length == 254:
        length, start = load_i64(buffer, position + 1), position + 9
    elif length > 250:
        return -1, 0
    return (start, length) if 0 <= length <= end - start else (-1, 0)


@kernel
def write_diffs(
    buffer: Bytes,
    diffs: Int32s,
    value_ends: Int32s,
    values: Bytes,
    rows: int,
    offsets: Bytes,
    text: Bytes,
) -> None:
    """Write the JSON arrays of all rows; `value_ends` are the offsets of the values in `values`."""
    at = 0
    diff = 0
    for row in range(rows):
        store_32(offsets, 4 * row, at)
        store_8(text, at, 91)  # [
        at += 1
        first = diff
        while diff < diffs.shape[0] and diffs[diff, _ROW] == row:
            if diff > first:
                store_8(text, at, 44)  # ,
                at += 1
            at = _write_diff(buffer, diffs, diff, value_ends, values, text, at)
            diff += 1
        store_8(text, at, 93)  # ]
        at += 1
    store_32(offsets, 4 * rows, at)


@inline_kernel
def _write_diff(
    buffer: Bytes,
    diffs: Int32s,
    diff: int,
    value_ends: Int32s,
    values: Bytes,
    text: Bytes,
    at: int,
) -> int:
    operation = diffs[diff, _OPERATION]
    copy_32(text, at, _HEADS, _HEAD_WIDTH * operation)
    at += item(_HEAD_LENGTHS, operation)
    at = write_string(text, at, buffer, diffs[diff, _PATH], diffs[diff, _PATH_LENGTH])
    if operation < _REMOVE:
        store_64(text, at, 0x2265756C6176222C)  # ,"value"
        store_8(text, at + 8, 58)  # :
        at += 9
        start, end = int(item(value_ends, diff)), int(item(value_ends, diff + 1))
        copied = 0
        while copied < end - start:
            copy_32(text, at + copied, values, start + copied)
            copied += 32
        at += end - start
    store_8(text, at, 125)  # }
    return at + 1
