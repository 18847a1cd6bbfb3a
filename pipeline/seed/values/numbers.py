"""Read printed integers, YEAR, DECIMAL, FLOAT, DOUBLE and BIT.

Digits are parsed by Arrow's casts, which are exact: a FLOAT printed as a double with all its digits
is read as the same FLOAT.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from decoder.columns import CellError, Cells, Column, ColumnReader
from decoder.constants import INTEGER_BITS, ColumnType
from decoder.model import ColumnDefinition
from pipeline.seed.values.cell_bytes import PrintedReader, cells_of, refuse
from pipeline.seed.values.text import first_that_fails, texts

_FIRST_YEAR, _LAST_YEAR = 1901, 2155
_DIGITS = r"^-?[0-9]+$"
_DECIMAL = r"^-?[0-9]*\.?[0-9]+$"
_NUMBER = r"^[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?$"

Outside = Callable[[Any], Any]
"""Returns a mask of an array's numbers that are out of the column's range."""


def _numbers(arrow_type: pa.DataType, form: str, kind: str, outside: Outside) -> PrintedReader:
    """Return the reader of numbers that match the expression `form` and are not `outside`."""
    reason = f"it is not a valid {kind}"

    def read(printed: pa.Array) -> Column:
        text = texts(printed, reason)
        refuse(pc.invert(pc.match_substring_regex(text, form)), reason)
        try:
            numbers = text.cast(arrow_type)
        except pa.ArrowInvalid:
            raise CellError(first_that_fails(text, arrow_type), reason) from None
        refuse(outside(numbers), reason)
        return Column(numbers)

    return read


def _decimal_texts(precision: int, scale: int, reason: str) -> PrintedReader:
    """Return the reader of DECIMAL as MySQL's text, without the padding of ZEROFILL."""
    whole = precision - scale
    digits = rf"(0|[1-9]\d{{0,{whole - 1}}})" if whole else "0"
    fraction = rf"\.\d{{{scale}}}" if scale else ""
    usual = f"^-?{digits}{fraction}$"

    def read(printed: pa.Array) -> Column:
        text = texts(printed, reason)
        unusual = pc.invert(pc.match_substring_regex(text, usual)).fill_null(False)
        rows = np.flatnonzero(unusual.to_numpy(zero_copy_only=False))
        if not len(rows):
            return Column(text)
        values = text.to_pylist()
        for row in rows.tolist():
            spelled = _spelled(values[row], precision, scale)
            if spelled is None:
                raise CellError(row, reason)
            values[row] = spelled
        return Column(pa.array(values, pa.string()))

    return read


def _spelled(text: str, precision: int, scale: int) -> str | None:
    """Return a decimal's text without padding; None if it is not one of this precision."""
    if not re.match(_DECIMAL, text):
        return None
    sign, digits, exponent = Decimal(text).as_tuple()
    shift = scale + int(exponent)
    number = int("".join(map(str, digits)))
    number, lost = (number * 10**shift, 0) if shift >= 0 else divmod(number, 10**-shift)
    if lost or number >= 10**precision:
        return None
    padded = f"{number:0{scale + 1}}"
    point = len(padded) - scale
    fraction = f".{padded[point:]}" if scale else ""
    return f"{'-' if sign and number else ''}{padded[:point]}{fraction}"


def printed_bits(column: ColumnDefinition, reader: ColumnReader) -> PrintedReader:
    """Return the reader of BIT as big-endian bytes; leading zero bytes may be missing."""
    bits, size = column.length, (column.length + 7) // 8

    def read(printed: pa.Array) -> Column:
        cells = cells_of(printed)
        filled = cells.positions >= 0
        refuse(filled & (cells.lengths > size), f"it is longer than BIT({bits})")
        if np.any(filled & (cells.lengths != size)):
            cells = _padded(cells, size)
        if bits % 8:
            highest = cells.buffer[np.where(filled, cells.positions, 0)] >> (bits % 8)
            refuse(filled & (highest != 0), f"it has more bits than BIT({bits})")
        return reader.read(cells)

    return read


def _padded(cells: Cells, size: int) -> Cells:
    """Pad shorter values with leading zero bytes to `size` bytes."""
    rows = len(cells.positions)
    room = np.zeros((rows, size), np.uint8)
    ends = cells.positions + cells.lengths
    for byte in range(size):
        present = (cells.lengths > byte) & (cells.positions >= 0)
        room[present, size - 1 - byte] = cells.buffer[ends[present] - 1 - byte]
    joined = pa.FixedSizeBinaryArray.from_buffers(
        pa.binary(size), rows, [None, pa.py_buffer(room.tobytes())]
    )
    padded = cells_of(joined.cast(pa.binary()))
    positions = np.where(cells.positions >= 0, padded.positions, np.int32(-1))
    return Cells(padded.buffer, positions, padded.lengths, cells.nulls)


@dataclass(frozen=True, slots=True)
class _Range:
    """The numbers from `low` to `high`, and 0 if `zero`."""

    low: int
    high: int
    zero: bool = False

    def __call__(self, numbers: Any) -> Any:
        """Return a mask of the numbers outside of the range."""
        kind = numbers.type
        low, high = pa.scalar(self.low, kind), pa.scalar(self.high, kind)
        outside = pc.or_(pc.less(numbers, low), pc.greater(numbers, high))
        return pc.and_(outside, pc.not_equal(numbers, 0)) if self.zero else outside


def _infinite(numbers: Any) -> Any:
    return pc.invert(pc.is_finite(numbers))


def _none(numbers: Any) -> Any:
    return np.zeros(len(numbers), np.bool_)


def printed_number(column: ColumnDefinition, arrow_type: pa.DataType) -> PrintedReader:
    """Return the reader of an integer, YEAR, FLOAT, DOUBLE or DECIMAL, with or without ZEROFILL."""
    match column.type:
        case ColumnType.YEAR:
            limits = _Range(_FIRST_YEAR, _LAST_YEAR, zero=True)
            return _numbers(arrow_type, _DIGITS, "YEAR", limits)
        case ColumnType.FLOAT | ColumnType.DOUBLE:
            return _numbers(arrow_type, _NUMBER, column.type.name, _infinite)
        case ColumnType.NEWDECIMAL:
            kind = f"DECIMAL({column.precision},{column.scale})"
            if pa.types.is_string(arrow_type):
                return _decimal_texts(column.precision, column.scale, f"it is not a valid {kind}")
            return _numbers(arrow_type, _DECIMAL, kind, _none)
    half = 1 << (INTEGER_BITS[column.type] - 1)
    limits = _Range(0, 2 * half - 1) if column.unsigned else _Range(-half, half - 1)
    kind = f"{column.type.name}{' UNSIGNED' if column.unsigned else ''}"
    return _numbers(arrow_type, _DIGITS, kind, limits)
