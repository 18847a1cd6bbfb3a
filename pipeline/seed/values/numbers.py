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

from decoder.columns.cells import CellError, Cells, Column, ColumnReader
from decoder.columns.decimals import LARGEST_DECIMAL128
from decoder.columns.fixed_width import bit_reader, integer_reader, year_reader
from decoder.constants import INTEGER_BITS, ColumnType
from decoder.model.definition import ColumnDefinition
from pipeline.seed.values.cell_bytes import cells_of, refuse

_FIRST_YEAR, _LAST_YEAR = 1901, 2155
_DIGITS = r"^-?[0-9]+$"
_DECIMAL = r"^-?[0-9]*\.?[0-9]+$"
_NUMBER = r"^[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?$"

Outside = Callable[[Any], Any]
"""Returns a mask of an array's numbers that are out of the column's range."""


@dataclass(frozen=True, slots=True)
class NumberReader:
    """Reader of numbers that match the regular expression `form` and are not `outside`."""

    arrow_type: pa.DataType
    form: str
    kind: str
    outside: Outside

    def read(self, printed: pa.Array) -> Column:
        """Return the numbers. Raises CellError for a value that is invalid or out of range."""
        reason = f"it is not a valid {self.kind}"
        text = texts(printed, reason)
        refuse(pc.invert(pc.match_substring_regex(text, self.form)), reason)
        try:
            numbers = text.cast(self.arrow_type)
        except pa.ArrowInvalid:
            raise CellError(_first_that_fails(text, self.arrow_type), reason) from None
        refuse(self.outside(numbers), reason)
        return Column(numbers)


@dataclass(frozen=True, slots=True)
class DecimalTextReader:
    """Reader of DECIMAL with more digits than decimal128: MySQL's text, without ZEROFILL."""

    arrow_type: pa.DataType
    precision: int
    scale: int

    def read(self, printed: pa.Array) -> Column:
        """Return the values as MySQL prints them without padding."""
        kind = f"DECIMAL({self.precision},{self.scale})"
        text = texts(printed, f"it is not a valid {kind}")
        whole = self.precision - self.scale
        digits = rf"(0|[1-9]\d{{0,{whole - 1}}})" if whole else "0"
        fraction = rf"\.\d{{{self.scale}}}" if self.scale else ""
        usual = f"^-?{digits}{fraction}$"
        unusual = pc.invert(pc.match_substring_regex(text, usual)).fill_null(False)
        rows = np.flatnonzero(unusual.to_numpy(zero_copy_only=False))
        if not len(rows):
            return Column(text)
        values = text.to_pylist()
        for row in rows.tolist():
            values[row] = self._spelled(values[row], row, kind)
        return Column(pa.array(values, self.arrow_type))

    def _spelled(self, text: str, row: int, kind: str) -> str:
        if not re.match(_DECIMAL, text):
            raise CellError(row, f"it is not a valid {kind}")
        sign, digits, exponent = Decimal(text).as_tuple()
        shift = self.scale + int(exponent)
        number = int("".join(map(str, digits)))
        number, lost = (number * 10**shift, 0) if shift >= 0 else divmod(number, 10**-shift)
        if lost or number >= 10**self.precision:
            raise CellError(row, f"it is not a valid {kind}")
        padded = f"{number:0{self.scale + 1}}"
        point = len(padded) - self.scale
        fraction = f".{padded[point:]}" if self.scale else ""
        return f"{'-' if sign and number else ''}{padded[:point]}{fraction}"


@dataclass(frozen=True, slots=True)
class BitsReader:
    """Reader of BIT(`bits`) as big-endian bytes; leading zero bytes may be missing."""

    reader: ColumnReader
    bits: int

    @property
    def arrow_type(self) -> pa.DataType:
        """The type of the decoder's reader."""
        return self.reader.arrow_type

    def read(self, printed: pa.Array) -> Column:
        """Return the values as the decoder reads them."""
        cells = cells_of(printed)
        size = (self.bits + 7) // 8
        filled = cells.positions >= 0
        refuse(filled & (cells.lengths > size), f"it is longer than BIT({self.bits})")
        if np.any(filled & (cells.lengths != size)):
            cells = _padded(cells, size)
        if self.bits % 8:
            highest = cells.buffer[np.where(filled, cells.positions, 0)] >> (self.bits % 8)
            refuse(filled & (highest != 0), f"it has more bits than BIT({self.bits})")
        return self.reader.read(cells)


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


def texts(printed: pa.Array, reason: str) -> pa.Array:
    """Return a cell array as strings. Raises CellError for bytes that are not valid UTF-8."""
    try:
        return printed.cast(pa.string())
    except pa.ArrowInvalid:
        raise CellError(_first_that_fails(printed, pa.string()), reason) from None


def _first_that_fails(values: pa.Array, kind: pa.DataType) -> int:
    """Return the first row that fails to cast, by bisection; one is known to fail."""
    start, stop = 0, len(values)
    while stop - start > 1:
        middle = (start + stop) // 2
        try:
            values.slice(start, middle - start).cast(kind)
            start = middle
        except pa.ArrowInvalid:
            stop = middle
    return start


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


def printed_integer(column: ColumnDefinition) -> NumberReader:
    """Return the reader of an integer type, with or without ZEROFILL's padding."""
    half = 1 << (INTEGER_BITS[column.type] - 1)
    limits = _Range(0, 2 * half - 1) if column.unsigned else _Range(-half, half - 1)
    kind = f"{column.type.name}{' UNSIGNED' if column.unsigned else ''}"
    return NumberReader(integer_reader(column).arrow_type, _DIGITS, kind, limits)


def printed_year() -> NumberReader:
    """Return the reader of YEAR."""
    limits = _Range(_FIRST_YEAR, _LAST_YEAR, zero=True)
    return NumberReader(year_reader().arrow_type, _DIGITS, "YEAR", limits)


def printed_float(column: ColumnDefinition) -> NumberReader:
    """Return the reader of FLOAT or DOUBLE."""
    kind = pa.float32() if column.type == ColumnType.FLOAT else pa.float64()
    return NumberReader(kind, _NUMBER, column.type.name, _infinite)


def printed_decimal(column: ColumnDefinition) -> NumberReader | DecimalTextReader:
    """Return the reader of DECIMAL(`column.precision`, `column.scale`)."""
    if column.precision > LARGEST_DECIMAL128:
        return DecimalTextReader(pa.string(), column.precision, column.scale)
    kind = f"DECIMAL({column.precision},{column.scale})"
    return NumberReader(pa.decimal128(column.precision, column.scale), _DECIMAL, kind, _none)


def printed_bits(column: ColumnDefinition) -> BitsReader:
    """Return the reader of BIT(`column.length`)."""
    return BitsReader(bit_reader(column), column.length)
