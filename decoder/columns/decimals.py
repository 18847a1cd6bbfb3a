"""DECIMAL(p, s): groups of nine digits in four big-endian bytes, incomplete groups in fewer.

Format (MySQL strings/decimal.cc, `decimal2bin`): the integer part starts with its incomplete group,
the fraction ends with its own; the first bit is inverted, and all bits of a negative value. Up to
38 digits become decimal128; more become the text that MySQL prints.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from decoder.columns.arrays import Int32s, Int64s, allocate
from decoder.columns.cells import CellError, Cells, Column, ColumnReader
from decoder.columns.digits import write_padded, write_unsigned
from decoder.columns.values import BoundedReader, Values, arrow_array
from decoder.kernels.memory import (
    Bytes,
    add_wrapping,
    inline_kernel,
    item,
    kernel,
    load_be32,
    load_be64,
    load_u8,
    multiply_wrapping,
    shift_left,
    shift_right_logical,
    store_8,
    store_32,
    store_64,
    subtract_wrapping,
)
from decoder.model.definition import ColumnDefinition

LARGEST_DECIMAL128 = 38
GROUP = 9
GROUP_BYTES = np.array([0, 1, 1, 2, 2, 3, 3, 4, 4, 4], np.int64)
"""Bytes of a group of 0 to 9 digits."""
POWERS = 10 ** np.arange(19, dtype=np.int64)
_LOW_32 = 0xFFFFFFFF
_OUT_OF_RANGE = "a digit group of a DECIMAL is out of range"


def digit_groups(precision: int, scale: int) -> list[int]:
    """Return the digits of each group in stored order: [1, 9, 4] for DECIMAL(14, 4)."""
    integer = precision - scale
    groups = [integer % GROUP, *[GROUP] * (integer // GROUP), *[GROUP] * (scale // GROUP)]
    return [digits for digits in (*groups, scale % GROUP) if digits]


@kernel
def read_short(
    buffer: Bytes, positions: Int32s, sizes: Int64s, powers: Int64s, values: Bytes
) -> int:
    """Read decimals of at most eight bytes and three groups; the first groups may be empty.

    Returns the first row with a group out of range, or −1.
    """
    bits_1 = 8 * item(sizes, 1)
    bits_2 = 8 * item(sizes, 2)
    size = 8 * item(sizes, 0) + bits_1 + bits_2
    sign = shift_left(1, size - 1)
    all_bits = shift_right_logical(-1, 64 - size)
    mask_1 = (1 << bits_1) - 1
    mask_2 = (1 << bits_2) - 1
    power_0, power_1, power_2 = item(powers, 0), item(powers, 1), item(powers, 2)
    for row in range(len(positions)):
        position = item(positions, row)
        stored = shift_right_logical(load_be64(buffer, max(position, 0)), 64 - size)
        negative = -1 if stored & sign == 0 else 0
        magnitude = stored ^ sign ^ (all_bits & negative)
        group_0 = shift_right_logical(shift_right_logical(magnitude, bits_1), bits_2)
        group_1 = shift_right_logical(magnitude, bits_2) & mask_1
        group_2 = magnitude & mask_2
        excess = (power_0 - 1 - group_0) | (power_1 - 1 - group_1) | (power_2 - 1 - group_2)
        if excess < 0 and position >= 0:
            return row
        leading = multiply_wrapping(group_0, power_1) + group_1
        value = add_wrapping(multiply_wrapping(leading, power_2), group_2)
        value = subtract_wrapping(value ^ negative, negative)
        store_64(values, 16 * row, value)
        store_64(values, 16 * row + 8, value >> 63)
    return -1


@kernel
def read_long(
    buffer: Bytes, positions: Int32s, sizes: Int64s, powers: Int64s, values: Bytes
) -> int:
    """Read decimals of any number of groups, accumulated in four limbs of 32 bits.

    Returns like `read_short`.
    """
    for row in range(len(positions)):
        position = item(positions, row)
        at = max(position, 0)
        flip = load_u8(buffer, at) & 0x80 ^ 0x80
        limb_0, limb_1, limb_2, limb_3 = 0, 0, 0, 0
        for group in range(len(sizes)):
            size = item(sizes, group)
            digits = load_group(buffer, at, size, flip != 0, group == 0)
            power = item(powers, group)
            if digits >= power and position >= 0:
                return row
            at += size
            product = limb_0 * power + digits
            limb_0 = product & _LOW_32
            product = limb_1 * power + (product >> 32)
            limb_1 = product & _LOW_32
            product = limb_2 * power + (product >> 32)
            limb_2 = product & _LOW_32
            limb_3 = (limb_3 * power + (product >> 32)) & _LOW_32
        low = limb_0 | shift_left(limb_1, 32)
        high = limb_2 | shift_left(limb_3, 32)
        if flip:
            high = ~high + (1 if low == 0 else 0)
            low = subtract_wrapping(0, low)
        store_64(values, 16 * row, low)
        store_64(values, 16 * row + 8, high)
    return -1


@inline_kernel
def load_group(buffer: Bytes, position: int, size: int, negative: bool, first: bool) -> int:
    """Load a group of `size` bytes (1 to 4), with the inverted bits restored."""
    bits = 8 * size
    group = load_be32(buffer, position) >> (32 - bits)
    if negative:
        group ^= (1 << bits) - 1
    if first:
        group ^= 1 << (bits - 1)
    return group


@kernel
def write_decimal(
    text: Bytes, at: int, buffer: Bytes, position: int, precision: int, scale: int
) -> int:
    """Write a decimal as MySQL prints it (`-0.50`), in at most precision + 3 characters.

    Returns the position after it; −1 if a group is out of range.
    """
    negative = load_u8(buffer, position) & 0x80 == 0
    if negative:
        store_8(text, at, 45)
        at += 1
    start = at
    source = position
    left = precision - scale
    while left > 0:
        digits = left % GROUP if left % GROUP else GROUP
        size = item(GROUP_BYTES, digits)
        group = load_group(buffer, source, size, negative, source == position)
        if group >= item(POWERS, digits):
            return -1
        if at > start:
            at = write_padded(text, at, group, GROUP)
        elif group > 0:
            at = write_unsigned(text, at, group)
        source += size
        left -= digits
    if at == start:
        store_8(text, at, 48)
        at += 1
    if scale == 0:
        return at
    store_8(text, at, 46)
    return write_fraction(text, at + 1, buffer, source, scale, negative, source == position)


@kernel
def write_fraction(
    text: Bytes,
    at: int,
    buffer: Bytes,
    source: int,
    scale: int,
    negative: bool,
    first: bool,
) -> int:
    """Write the digits after the decimal point; returns like `write_decimal`."""
    left = scale
    while left > 0:
        digits = min(left, GROUP)
        size = item(GROUP_BYTES, digits)
        group = load_group(buffer, source, size, negative, first)
        if group >= item(POWERS, digits):
            return -1
        at = write_padded(text, at, group, digits)
        first = False
        source += size
        left -= digits
    return at


@kernel
def read_text(
    buffer: Bytes, positions: Int32s, precision: int, scale: int, offsets: Bytes, text: Bytes
) -> int:
    """Write decimals as text; returns like `read_short`."""
    at = 0
    for row in range(len(positions)):
        store_32(offsets, 4 * row, at)
        position = item(positions, row)
        if position >= 0:
            at = write_decimal(text, at, buffer, position, precision, scale)
            if at < 0:
                return row
    store_32(offsets, 4 * len(positions), at)
    return -1


@dataclass(frozen=True, slots=True)
class DecimalReader:
    """Reader for DECIMAL of up to 38 digits.

    `sizes` and `powers`: bytes and 10**digits of each group.
    """

    arrow_type: pa.DataType
    sizes: Int64s
    powers: Int64s

    def read(self, cells: Cells) -> Column:
        """Return the cells as decimal128; CellError for a group out of range."""
        rows = len(cells.positions)
        data, values = allocate(16 * rows)
        short = len(self.sizes) == 3 and int(self.sizes.sum()) <= 8
        fill = read_short if short else read_long
        row = fill(cells.buffer, cells.positions, self.sizes, self.powers, values)
        if row >= 0:
            raise CellError(row, _OUT_OF_RANGE)
        return Column(arrow_array(self.arrow_type, cells, data))


def decimal_reader(column: ColumnDefinition) -> ColumnReader:
    """Return the reader for DECIMAL(`column.precision`, `column.scale`)."""
    if column.precision > LARGEST_DECIMAL128:
        return _text_reader(column.precision, column.scale)
    groups = digit_groups(column.precision, column.scale)
    padded = [0] * (3 - len(groups)) + groups
    return DecimalReader(
        pa.decimal128(column.precision, column.scale), GROUP_BYTES[padded], POWERS[padded]
    )


def _text_reader(precision: int, scale: int) -> BoundedReader:
    def write(cells: Cells, values: Values) -> int:
        source = (cells.buffer, cells.positions)
        return read_text(*source, precision, scale, values.ends, values.bytes)

    return BoundedReader(pa.string(), precision + 3, write, _OUT_OF_RANGE)
