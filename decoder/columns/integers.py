"""TINYINT to BIGINT, signed and unsigned, and YEAR: little-endian bytes to Arrow integers.

An unsigned type becomes the smallest signed type that holds it, BIGINT UNSIGNED decimal128(20, 0).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import pyarrow as pa

from decoder.columns.arrays import Int32s, allocate
from decoder.columns.cells import Cells, Column
from decoder.columns.validity import validity
from decoder.constants import ColumnType
from decoder.kernels.memory import (
    Bytes,
    item,
    kernel,
    load_i16,
    load_i24,
    load_i32,
    load_i64,
    load_u8,
    load_u16,
    load_u24,
    load_u32,
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
        array = pa.Array.from_buffers(self.arrow_type, rows, [validity(cells), data], cells.nulls)
        return Column(array)


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
