"""Convert constants to values of numeric columns, as the server's `Field_…::store` do."""

from __future__ import annotations

import math
import re
import struct
from collections.abc import Callable
from decimal import MAX_EMAX, MIN_EMIN, ROUND_HALF_EVEN, ROUND_HALF_UP, Context, Decimal

from decoder.constants import INTEGER_BITS, ColumnType
from decoder.model import ColumnDefinition
from pipeline.schema_history.ddl.charsets import encoded
from pipeline.schema_history.ddl.constants import ByteString, Constant, Text
from pipeline.schema_history.ddl.conversion_mode import ConversionMode

Conversion = Callable[[Constant, ColumnDefinition, ConversionMode], str | None]
"""Converts a non-NULL constant to a column value's text. Raises ValueError if it is unknown."""

_WIDE = Context(prec=400, Emin=MIN_EMIN, Emax=MAX_EMAX)
"""Wide enough for every number that a server accepts: Python's default context has 28 digits."""
_LARGEST = 330
"""The largest decimal exponent; a double has none larger."""
_NUMBER = re.compile(r"[ \t\n\v\f\r]*([+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?)\s*", re.ASCII)
_YEAR = re.compile(r"\d{1,4}", re.ASCII)


def _number(value: Constant) -> Decimal:
    if isinstance(value, ByteString):
        if value.number:
            return Decimal(int.from_bytes(value.raw, "big"))
        value = Text(value.raw.decode("ascii"))
    if isinstance(value, Text):
        match = _NUMBER.fullmatch(value.text)
        if match is None:
            raise ValueError("not a number")
        value = Decimal(match.group(1))
    if isinstance(value, float):
        value = Decimal(repr(value))
    if not isinstance(value, Decimal) or (value and abs(value.adjusted()) > _LARGEST):
        raise ValueError("not a known number")
    return value if value else value.copy_abs()


def _rounded(value: Constant, scale: int) -> Decimal:
    """Round half away from zero; half to even for an approximate number."""
    even = isinstance(value, float) and scale == 0
    unit = Decimal((0, (1,), -scale))
    rounded = _number(value).quantize(unit, ROUND_HALF_EVEN if even else ROUND_HALF_UP, _WIDE)
    return rounded if rounded else rounded.copy_abs()


def _integer(value: Constant, column: ColumnDefinition, _mode: ConversionMode) -> str:
    number, bits = int(_rounded(value, 0)), INTEGER_BITS[column.type]
    low, high = (0, 1 << bits) if column.unsigned else (-(1 << bits - 1), 1 << bits - 1)
    if not low <= number < high:
        raise ValueError("it is out of range")
    return str(number)


def _decimal(value: Constant, column: ColumnDefinition, _mode: ConversionMode) -> str:
    rounded = _rounded(value, column.scale)
    if rounded.adjusted() >= column.precision - column.scale and rounded:
        raise ValueError("it is out of range")
    if column.unsigned and rounded.is_signed():
        raise ValueError("it is out of range")
    return f"{rounded:f}"


def _single(value: Constant, column: ColumnDefinition, _mode: ConversionMode) -> str:
    return _as_single(_approximate(value, column))


def _as_single(number: float) -> str:
    return repr(struct.unpack("<f", struct.pack("<f", number))[0])


def _double(value: Constant, column: ColumnDefinition, _mode: ConversionMode) -> str:
    return repr(_approximate(value, column))


def _approximate(value: Constant, column: ColumnDefinition) -> float:
    """Return the number at the scale of a FLOAT(M,D), as the server's `Field_real::truncate`."""
    number = value if isinstance(value, float) else float(_number(value))
    if math.isinf(number) or (column.unsigned and number < 0):
        raise ValueError("it is out of range")
    if not column.precision:
        return number
    unit = 10.0**column.scale
    whole = math.floor(number)
    rounded = whole + round((number - whole) * unit) / unit
    if abs(rounded) > 10.0 ** (column.precision - column.scale) - 1 / unit:
        raise ValueError("it is out of range")
    return rounded


def _bit(value: Constant, column: ColumnDefinition, _mode: ConversionMode) -> str:
    if isinstance(value, Text):
        value = ByteString(encoded(value.text, value.charset))
    if isinstance(value, ByteString):
        value = Decimal(int.from_bytes(value.raw, "big"))
    number = int(value) if isinstance(value, float) else int(_rounded(value, 0))
    if not 0 <= number < 1 << column.length:
        raise ValueError("it is out of range")
    return ("true" if number else "false") if column.length == 1 else str(number)


def _year(value: Constant, _column: ColumnDefinition, _mode: ConversionMode) -> str:
    if isinstance(value, ByteString) and not value.number:
        value = Text(value.raw.decode("ascii"))
    if isinstance(value, Text):
        return _read_year(value.text, is_text=True)
    return _read_year(f"{_number(value):f}", is_text=False)


def _read_year(text: str, *, is_text: bool) -> str:
    """Read a YEAR: two digits mean 1970 to 2069; the number 0 is 0, the text '0' is 2000."""
    if not _YEAR.fullmatch(text):
        raise ValueError("not a year")
    year = int(text)
    if 1901 <= year <= 2155 or (year == 0 and (not is_text or text == "0000")):
        return str(year)
    if year >= 100 or len(text) > 2:
        raise ValueError("a year that is out of range or has three digits")
    return str(year + (2000 if year < 70 else 1900))


def keeps_digits(column: ColumnDefinition, text: str) -> bool:
    """Return True if the server reads back the value that it prints: a FLOAT with six digits."""
    single = column.type is ColumnType.FLOAT and not column.precision
    return not single or _as_single(float(f"{float(text):.6g}")) == text


NUMERIC: dict[ColumnType, Conversion] = {
    **dict.fromkeys(INTEGER_BITS, _integer),
    ColumnType.NEWDECIMAL: _decimal,
    ColumnType.FLOAT: _single,
    ColumnType.DOUBLE: _double,
    ColumnType.BIT: _bit,
    ColumnType.YEAR: _year,
}
"""Conversions by column type."""
