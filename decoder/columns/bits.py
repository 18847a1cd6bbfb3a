"""BIT(n): big-endian in (n + 7) / 8 bytes, to boolean (n = 1), int64 or decimal128 (n = 64)."""

from __future__ import annotations

from dataclasses import dataclass

import pyarrow as pa

from decoder.columns.arrays import Int32s, allocate
from decoder.columns.cells import Cells, Column
from decoder.columns.validity import validity
from decoder.kernels.memory import (
    Bytes,
    item,
    kernel,
    load_be64,
    load_u8,
    shift_left,
    shift_right_logical,
    store_64,
)
from decoder.model.definition import ColumnDefinition


@kernel
def read_booleans(buffer: Bytes, positions: Int32s, bitmap: Bytes) -> None:
    """Convert BIT(1) to Arrow's bits, in whole 8-byte words."""
    rows = len(positions)
    for first in range(0, rows, 64):
        word = 0
        for bit in range(min(64, rows - first)):
            value = load_u8(buffer, max(item(positions, first + bit), 0))
            word |= shift_left(value & 1, bit)
        store_64(bitmap, first >> 3, word)


@kernel
def read_bits(buffer: Bytes, positions: Int32s, size: int, stride: int, values: Bytes) -> None:
    """Convert BIT of `size` bytes to integers of `stride` bytes (8; 16 for a decimal128)."""
    for row in range(len(positions)):
        value = load_be64(buffer, max(item(positions, row), 0))
        store_64(values, row * stride, shift_right_logical(value, 64 - 8 * size))
        if stride == 16:
            store_64(values, row * stride + 8, 0)


@dataclass(frozen=True, slots=True)
class BooleanReader:
    """Reader for BIT(1)."""

    arrow_type: pa.DataType

    def read(self, cells: Cells) -> Column:
        """Return the cells as booleans."""
        rows = len(cells.positions)
        data, bitmap = allocate((rows + 63 >> 6) * 8)
        read_booleans(cells.buffer, cells.positions, bitmap)
        buffers = [validity(cells), data]
        return Column(pa.Array.from_buffers(self.arrow_type, rows, buffers, cells.nulls))


@dataclass(frozen=True, slots=True)
class BitsReader:
    """Reader for BIT(2) to BIT(64), of `size` bytes."""

    arrow_type: pa.DataType
    size: int

    def read(self, cells: Cells) -> Column:
        """Return the cells as integers or, for BIT(64), decimals."""
        rows = len(cells.positions)
        stride = self.arrow_type.bit_width // 8
        data, values = allocate(rows * stride)
        read_bits(cells.buffer, cells.positions, self.size, stride, values)
        buffers = [validity(cells), data]
        return Column(pa.Array.from_buffers(self.arrow_type, rows, buffers, cells.nulls))


def bit_reader(column: ColumnDefinition) -> BooleanReader | BitsReader:
    """Return the reader for BIT(`column.length`)."""
    if column.length == 1:
        return BooleanReader(pa.bool_())
    fits = column.length < 64
    return BitsReader(pa.int64() if fits else pa.decimal128(20, 0), (column.length + 7) // 8)
