"""Opaque values in JSON: SQL values of types that JSON does not have.

As in MySQL's text, decimals are numbers, dates and times are strings with microseconds, and all
other types are the base64 of their bytes.
"""

from __future__ import annotations

from decoder.columns.decimals import GROUP, GROUP_BYTES, write_decimal
from decoder.columns.json_errors import NOT_A_NUMBER, NOT_TEMPORAL, OUTSIDE
from decoder.columns.json_text import QUOTE, write_base64
from decoder.columns.temporal_text import write_date, write_datetime, write_time
from decoder.constants import ColumnType
from decoder.kernels.memory import Bytes, inline_kernel, item, kernel, load_i64, load_u8, store_8

_TIMESTAMP = int(ColumnType.TIMESTAMP)
_DATE = int(ColumnType.DATE)
_TIME = int(ColumnType.TIME)
_DATETIME = int(ColumnType.DATETIME)
_NEWDECIMAL = int(ColumnType.NEWDECIMAL)
_PACKED_SIZE = 8
_MICROSECOND_DIGITS = 6
_LARGEST_PRECISION = 81
"""Nine groups of nine digits: inside JSON, a DECIMAL(65, 30) can have precision 66."""


@inline_kernel
def packed_digits(digits: int) -> int:
    """Return the bytes of this many packed decimal digits on one side of the point."""
    return digits // GROUP * 4 + item(GROUP_BYTES, digits % GROUP)


@kernel
def write_opaque_decimal(text: Bytes, at: int, buffer: Bytes, position: int, length: int) -> int:
    """Write a decimal, stored as precision, scale, and DECIMAL(precision, scale)."""
    if length < 2:
        return OUTSIDE
    precision, scale = load_u8(buffer, position), load_u8(buffer, position + 1)
    if precision == 0 or precision > _LARGEST_PRECISION or scale > precision:
        return NOT_A_NUMBER
    if length != 2 + packed_digits(precision - scale) + packed_digits(scale):
        return OUTSIDE
    end = write_decimal(text, at, buffer, position + 2, precision, scale)
    return end if end >= 0 else NOT_A_NUMBER


@kernel
def write_opaque_temporal(text: Bytes, at: int, packed: int, field_type: int) -> int:
    """Write a packed date or time (see `temporal_storage`) as a JSON string."""
    if packed < 0 and field_type != _TIME:
        return NOT_TEMPORAL
    store_8(text, at, QUOTE)
    if field_type == _DATE:
        at = write_date(text, at + 1, packed)
    elif field_type == _TIME:
        at = write_time(text, at + 1, packed, _MICROSECOND_DIGITS)
    else:
        at = write_datetime(text, at + 1, packed, _MICROSECOND_DIGITS)
    store_8(text, at, QUOTE)
    return at + 1


@kernel
def write_opaque(
    text: Bytes, at: int, buffer: Bytes, position: int, length: int, field_type: int
) -> int:
    """Write a value of an SQL type, stored in `length` bytes; return its end or an error code.

    Writes at most LONGEST_SCALAR + 2 * length bytes.
    """
    if field_type == _NEWDECIMAL:
        return write_opaque_decimal(text, at, buffer, position, length)
    if field_type in (_DATE, _TIME, _DATETIME, _TIMESTAMP):
        if length != _PACKED_SIZE:
            return OUTSIDE
        return write_opaque_temporal(text, at, load_i64(buffer, position), field_type)
    return write_base64(text, at, buffer, position, length, field_type)
