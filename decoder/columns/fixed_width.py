"""Types of a fixed width for which every bit pattern is a value: integers, floats, YEAR and BIT.

TINYINT to BIGINT are little-endian. An unsigned type becomes the smallest signed type that holds
it, BIGINT UNSIGNED decimal128(20, 0). FLOAT and DOUBLE are little-endian IEEE 754, copied bit for
bit. BIT(n) is big-endian in (n + 7) / 8 bytes, and becomes boolean (n = 1), int64 or decimal128
(n = 64).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import pyarrow as pa

from decoder.columns.arrays import Int32s, allocate
from decoder.columns.cells import Cells, Column
from decoder.columns.values import arrow_array
from decoder.constants import ColumnType
from decoder.kernels.memory import (
    Bytes,
    item,
    kernel,
    load_be64,
    load_i16,
    load_i24,
    load_i32,
    load_i64,
    load_u8,
    load_u16,
    load_u24,
    load_u32,
    shift_left,
    shift_right_logical,
    store_8,
    store_16,
    store_32,
    store_64,
)
from decoder.model.definition import ColumnDefinition

FixedKernel = Callable[[Bytes, Int32s, Bytes], None]
"""(buffer, positions, values): stores a fixed-width value per position; undefined for NULL."""


@dataclass(frozen=True, slots=True)
class FixedWidthReader:
    """Reader for fixed-width values for which every bit pattern is valid."""

    arrow_type: pa.DataType
    fill: FixedKernel

    def read(self, cells: Cells) -> Column:
        """Return the cells as an array of `arrow_type`."""
        rows = len(cells.positions)
        data, values = allocate(rows * self.arrow_type.bit_width // 8)
        self.fill(cells.buffer, cells.positions, values)
        return Column(arrow_array(self.arrow_type, cells, data))


@kernel
def read_1_to_1(buffer: Bytes, positions: Int32s, values: Bytes) -> None:
    """Read TINYINT."""
    for row in range(len(positions)):
        store_8(values, row, load_u8(buffer, max(item(positions, row), 0)))


@kernel
def read_u8_to_2(buffer: Bytes, positions: Int32s, values: Bytes) -> None:
    """Read TINYINT UNSIGNED."""
    for row in range(len(positions)):
        store_16(values, 2 * row, load_u8(buffer, max(item(positions, row), 0)))


@kernel
def read_i16_to_2(buffer: Bytes, positions: Int32s, values: Bytes) -> None:
    """Read SMALLINT."""
    for row in range(len(positions)):
        store_16(values, 2 * row, load_i16(buffer, max(item(positions, row), 0)))


@kernel
def read_u16_to_4(buffer: Bytes, positions: Int32s, values: Bytes) -> None:
    """Read SMALLINT UNSIGNED."""
    for row in range(len(positions)):
        store_32(values, 4 * row, load_u16(buffer, max(item(positions, row), 0)))


@kernel
def read_i24_to_4(buffer: Bytes, positions: Int32s, values: Bytes) -> None:
    """Read MEDIUMINT."""
    for row in range(len(positions)):
        store_32(values, 4 * row, load_i24(buffer, max(item(positions, row), 0)))


@kernel
def read_u24_to_4(buffer: Bytes, positions: Int32s, values: Bytes) -> None:
    """Read MEDIUMINT UNSIGNED."""
    for row in range(len(positions)):
        store_32(values, 4 * row, load_u24(buffer, max(item(positions, row), 0)))


@kernel
def read_4_to_4(buffer: Bytes, positions: Int32s, values: Bytes) -> None:
    """Read INT or FLOAT."""
    for row in range(len(positions)):
        store_32(values, 4 * row, load_i32(buffer, max(item(positions, row), 0)))


@kernel
def read_u32_to_8(buffer: Bytes, positions: Int32s, values: Bytes) -> None:
    """Read INT UNSIGNED."""
    for row in range(len(positions)):
        store_64(values, 8 * row, load_u32(buffer, max(item(positions, row), 0)))


@kernel
def read_8_to_8(buffer: Bytes, positions: Int32s, values: Bytes) -> None:
    """Read BIGINT or DOUBLE."""
    for row in range(len(positions)):
        store_64(values, 8 * row, load_i64(buffer, max(item(positions, row), 0)))


@kernel
def read_u64_to_16(buffer: Bytes, positions: Int32s, values: Bytes) -> None:
    """Read BIGINT UNSIGNED as decimal128."""
    for row in range(len(positions)):
        store_64(values, 16 * row, load_i64(buffer, max(item(positions, row), 0)))
        store_64(values, 16 * row + 8, 0)


@kernel
def read_years(buffer: Bytes, positions: Int32s, values: Bytes) -> None:
    """Read YEAR: one byte, the years since 1900; 0 is the year 0."""
    for row in range(len(positions)):
        year = load_u8(buffer, max(item(positions, row), 0))
        store_16(values, 2 * row, year + 1900 if year else 0)


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
def read_bits(size: int, stride: int, buffer: Bytes, positions: Int32s, values: Bytes) -> None:
    """Convert BIT of `size` bytes to integers of `stride` bytes (8; 16 for a decimal128)."""
    for row in range(len(positions)):
        value = load_be64(buffer, max(item(positions, row), 0))
        store_64(values, row * stride, shift_right_logical(value, 64 - 8 * size))
        if stride == 16:
            store_64(values, row * stride + 8, 0)


_SIGNED = {
    ColumnType.TINY: FixedWidthReader(pa.int8(), read_1_to_1),
    ColumnType.SHORT: FixedWidthReader(pa.int16(), read_i16_to_2),
    ColumnType.INT24: FixedWidthReader(pa.int32(), read_i24_to_4),
    ColumnType.LONG: FixedWidthReader(pa.int32(), read_4_to_4),
    ColumnType.LONGLONG: FixedWidthReader(pa.int64(), read_8_to_8),
}
_UNSIGNED = {
    ColumnType.TINY: FixedWidthReader(pa.int16(), read_u8_to_2),
    ColumnType.SHORT: FixedWidthReader(pa.int32(), read_u16_to_4),
    ColumnType.INT24: FixedWidthReader(pa.int32(), read_u24_to_4),
    ColumnType.LONG: FixedWidthReader(pa.int64(), read_u32_to_8),
    ColumnType.LONGLONG: FixedWidthReader(pa.decimal128(20, 0), read_u64_to_16),
}


def integer_reader(column: ColumnDefinition) -> FixedWidthReader:
    """Return the reader for TINYINT, SMALLINT, MEDIUMINT, INT or BIGINT."""
    return (_UNSIGNED if column.unsigned else _SIGNED)[column.type]


def year_reader() -> FixedWidthReader:
    """Return the reader for YEAR."""
    return FixedWidthReader(pa.int16(), read_years)


def float_reader(column: ColumnDefinition) -> FixedWidthReader:
    """Return the reader for FLOAT or DOUBLE."""
    if column.type == ColumnType.FLOAT:
        return FixedWidthReader(pa.float32(), read_4_to_4)
    return FixedWidthReader(pa.float64(), read_8_to_8)


def bit_reader(column: ColumnDefinition) -> FixedWidthReader:
    """Return the reader for BIT(`column.length`)."""
    if column.length == 1:
        return FixedWidthReader(pa.bool_(), read_booleans)
    kind = pa.int64() if column.length < 64 else pa.decimal128(20, 0)
    size = (column.length + 7) // 8
    return FixedWidthReader(kind, partial(read_bits, size, kind.bit_width // 8))
