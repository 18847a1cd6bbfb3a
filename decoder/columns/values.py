"""Arrow arrays of cells: their validity bitmaps, and variable-length values, concatenated."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from decoder.columns.arrays import Int32s, allocate, allocate_text
from decoder.columns.cells import CellError, Cells, Column
from decoder.kernels.memory import (
    Bytes,
    copy_32,
    item,
    kernel,
    shift_left,
    shift_right_logical,
    store_32,
    store_64,
)


@kernel
def fill_validity(positions: Int32s, bitmap: Bytes) -> None:
    """Fill `bitmap` in whole 8-byte words; its size is a multiple of 64 bits."""
    rows = len(positions)
    for first in range(0, rows, 64):
        word = 0
        for bit in range(min(64, rows - first)):
            null = shift_right_logical(item(positions, first + bit), 63)
            word |= shift_left(1 - null, bit)
        store_64(bitmap, first >> 3, word)


def arrow_array(
    arrow_type: pa.DataType, cells: Cells, *data: Any, children: list[Any] | None = None
) -> Any:
    """Return a pa.Array of a value per cell, with the cells' nulls; `data`: its other buffers."""
    rows, bitmap = len(cells.positions), None
    if cells.nulls:
        bitmap, words = allocate((rows + 63 >> 6) * 8)
        fill_validity(cells.positions, words)
    buffers = [bitmap, *data]
    return pa.Array.from_buffers(arrow_type, rows, buffers, cells.nulls, children=children)


def without(cells: Cells, rows: npt.NDArray[np.int64]) -> Cells:
    """Return the cells with NULL in `rows`, none of which was NULL."""
    if not len(rows):
        return cells
    positions = cells.positions.copy()
    positions[rows] = -1
    return Cells(cells.buffer, positions, cells.lengths, cells.nulls + len(rows))


@kernel
def total_length(positions: Int32s, lengths: Int32s) -> int:
    """Return the bytes of all cells that are not NULL (whose length is undefined)."""
    total = 0
    for row in range(len(positions)):
        if item(positions, row) >= 0:
            total += item(lengths, row)
    return total


@kernel
def copy_values(
    buffer: Bytes, positions: Int32s, lengths: Int32s, skip: int, offsets: Bytes, values: Bytes
) -> None:
    """Copy each cell without its first `skip` bytes, in steps of 32 that need slack at the ends."""
    at = 0
    for row in range(len(positions)):
        store_32(offsets, 4 * row, at)
        position = item(positions, row) + skip
        if position < skip:
            continue
        length = item(lengths, row) - skip
        copied = 0
        while copied < length:
            copy_32(values, at + copied, buffer, position + copied)
            copied += 32
        at += length
    store_32(offsets, 4 * len(positions), at)


@kernel
def copy_padded(
    buffer: Bytes, positions: Int32s, lengths: Int32s, width: int, offsets: Bytes, values: Bytes
) -> int:
    """Copy each cell, padded with 0x00 to `width` bytes.

    Returns the first row that is longer, or −1.
    """
    at = 0
    for row in range(len(positions)):
        store_32(offsets, 4 * row, at)
        position = item(positions, row)
        if position < 0:
            continue
        length = item(lengths, row)
        if length > width:
            return row
        copied = 0
        while copied < length:
            copy_32(values, at + copied, buffer, position + copied)
            copied += 32
        while length < width:
            store_64(values, at + length, 0)
            length += 8
        at += width
    store_32(offsets, 4 * len(positions), at)
    return -1


@dataclass(frozen=True, slots=True)
class Values:
    """`size` bytes of values and their offsets, each as an Arrow buffer and a NumPy view of it."""

    offsets: Any
    ends: Bytes
    data: Any
    bytes: Bytes
    size: int

    def array(self, arrow_type: pa.DataType, cells: Cells) -> Any:
        """Return the values as a pa.Array, with the cells' nulls."""
        return arrow_array(arrow_type, cells, self.offsets, self.data)


def allocate_values(rows: int, size: int) -> Values:
    """Allocate `rows` values of `size` bytes in total."""
    offsets, ends = allocate(4 * (rows + 1))
    data, values = allocate_text(size)
    return Values(offsets, ends, data, values, size)


def copied(cells: Cells, *, skip: int = 0) -> Values:
    """Copy the cells' bytes, without the first `skip` of each; none may be shorter than that."""
    rows = len(cells.positions)
    size = total_length(cells.positions, cells.lengths) - skip * (rows - cells.nulls)
    values = allocate_values(rows, size)
    copy_values(cells.buffer, cells.positions, cells.lengths, skip, values.ends, values.bytes)
    return values


@dataclass(frozen=True, slots=True)
class BoundedReader:
    """Reader for strings or bytes of at most `longest` bytes each.

    `write` returns the first row whose value is malformed, for the reason `fault`, or −1.
    """

    arrow_type: pa.DataType
    longest: int
    write: Callable[[Cells, Values], int]
    fault: str

    def read(self, cells: Cells) -> Column:
        """Return the cells' values; CellError for a malformed one."""
        rows = len(cells.positions)
        values = allocate_values(rows, rows * self.longest)
        row = self.write(cells, values)
        if row >= 0:
            raise CellError(row, self.fault)
        return Column(values.array(self.arrow_type, cells))
