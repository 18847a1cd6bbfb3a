"""Integers, YEAR, DECIMAL, FLOAT, DOUBLE and BIT, as they are printed.

Digits become numbers by Arrow's casts, which are exact: a FLOAT printed as a double with all its
digits is the same FLOAT again.
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

from decoder.columns.bits import bit_reader
from decoder.columns.cells import CellError, Cells, Column, ColumnReader
from decoder.columns.decimals import LARGEST_DECIMAL128
from decoder.columns.integers import integer_reader, year_reader
from decoder.constants import INTEGER_BITS, ColumnType
from decoder.model.definition import ColumnDefinition
from pipeline.seed.values.cell_bytes import cells_of, refuse

_FIRST_YEAR, _LAST_YEAR = 1901, 2155
_DIGITS = r"^-?[0-9]+$"
_DECIMAL = r"^-?[0-9]*\.?[0-9]+$"
_NUMBER = r"^[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?$"

Outside = Callable[[Any], Any]
"""Which numbers of an array the column cannot hold."""


@dataclass(frozen=True, slots=True)
class NumberReader:
    """Numbers that match `form`, a regular expression, and of which `outside` leaves none."""

    arrow_type: pa.DataType
    form: str
    kind: str
    outside: Outside

    def read(self, printed: pa.Array) -> Column:
        """The numbers."""
        reason = f"it is no {self.kind}"
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
    """DECIMAL of more digits than decimal128 has: the text that MySQL prints, without ZEROFILL."""

    arrow_type: pa.DataType
    precision: int
    scale: int

    def read(self, printed: pa.Array) -> Column:
        """The cells as MySQL prints them where nothing pads them."""
        kind = f"DECIMAL({self.precision},{self.scale})"
        text = texts(printed, f"it is no {kind}")
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
            raise CellError(row, f"it is no {kind}")
        sign, digits, exponent = Decimal(text).as_tuple()
        shift = self.scale + int(exponent)
        number = int("".join(map(str, digits)))
        number, lost = (number * 10**shift, 0) if shift >= 0 else divmod(number, 10**-shift)
        if lost or number >= 10**self.precision:
            raise CellError(row, f"it is no {kind}")
        padded = f"{number:0{self.scale + 1}}"
        point = len(padded) - self.scale
        fraction = f".{padded[point:]}" if self.scale else ""
        return f"{'-' if sign and number else ''}{padded[:point]}{fraction}"


@dataclass(frozen=True, slots=True)
class BitsReader:
    """BIT(`bits`) as bytes, the highest first; leading zero bytes may lack."""

    reader: ColumnReader
    bits: int

    @property
    def arrow_type(self) -> pa.DataType:
        """The type that the decoder gives."""
        return self.reader.arrow_type

    def read(self, printed: pa.Array) -> Column:
        """The bits, as the decoder reads them."""
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
    """The same with zero bytes before values of fewer than `size`."""
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
    """A cell array as strings; CellError for bytes that are no UTF-8."""
    try:
        return printed.cast(pa.string())
    except pa.ArrowInvalid:
        raise CellError(_first_that_fails(printed, pa.string()), reason) from None


def _first_that_fails(values: pa.Array, kind: pa.DataType) -> int:
    """The first row that a cast refuses, by halving: one of them is known to."""
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
    """The numbers from `low` to `high`, and, where `zero` is among them, 0."""

    low: int
    high: int
    zero: bool = False

    def __call__(self, numbers: Any) -> Any:
        """Which are not in it."""
        kind = numbers.type
        low, high = pa.scalar(self.low, kind), pa.scalar(self.high, kind)
        outside = pc.or_(pc.less(numbers, low), pc.greater(numbers, high))
        return pc.and_(outside, pc.not_equal(numbers, 0)) if self.zero else outside


def _infinite(numbers: Any) -> Any:
    return pc.invert(pc.is_finite(numbers))


def _none(numbers: Any) -> Any:
    return np.zeros(len(numbers), np.bool_)


def printed_integer(column: ColumnDefinition) -> NumberReader:
    """The reader of TINYINT, SMALLINT, MEDIUMINT, INT or BIGINT, padded by ZEROFILL or not."""
    half = 1 << (INTEGER_BITS[column.type] - 1)
    limits = _Range(0, 2 * half - 1) if column.unsigned else _Range(-half, half - 1)
    kind = f"{column.type.name}{' UNSIGNED' if column.unsigned else ''}"
    return NumberReader(integer_reader(column).arrow_type, _DIGITS, kind, limits)


def printed_year() -> NumberReader:
    """The reader of YEAR."""
    limits = _Range(_FIRST_YEAR, _LAST_YEAR, zero=True)
    return NumberReader(year_reader().arrow_type, _DIGITS, "YEAR", limits)


def printed_float(column: ColumnDefinition) -> NumberReader:
    """The reader of FLOAT or DOUBLE."""
    kind = pa.float32() if column.type == ColumnType.FLOAT else pa.float64()
    return NumberReader(kind, _NUMBER, column.type.name, _infinite)


def printed_decimal(column: ColumnDefinition) -> NumberReader | DecimalTextReader:
    """The reader of DECIMAL(`column.precision`, `column.scale`)."""
    if column.precision > LARGEST_DECIMAL128:
        return DecimalTextReader(pa.string(), column.precision, column.scale)
    kind = f"DECIMAL({column.precision},{column.scale})"
    return NumberReader(pa.decimal128(column.precision, column.scale), _DECIMAL, kind, _none)


def printed_bits(column: ColumnDefinition) -> BitsReader:
    """The reader of BIT(`column.length`)."""
    return BitsReader(bit_reader(column), column.length)
