"""USER_VAR: a user variable that the next statement reads.

Format: MySQL `statement_events.cpp`, `User_var_event`.
"""

from __future__ import annotations

import struct
from collections.abc import Callable
from dataclasses import dataclass
from enum import IntEnum
from typing import TypeAlias

from decoder.columns.charsets import decode
from decoder.constants import BINARY_COLLATION
from decoder.errors import UnsupportedError
from decoder.events.cursor import Cursor
from decoder.events.event import Event

_UNSIGNED = 0x1
_REAL_LENGTH = _INTEGER_LENGTH = 8
_DIGITS_OF_GROUP = 9
_BYTES_OF_DIGITS = (0, 1, 1, 2, 2, 3, 3, 4, 4, 4)
_MAX_PRECISION, _MAX_SCALE = 65, 30

UserVariableValue: TypeAlias = str | bytes | float | int | None


class UserVarType(IntEnum):
    """`Item_result`; 3 is a row, which a variable cannot hold."""

    STRING = 0
    REAL = 1
    INTEGER = 2
    DECIMAL = 4


@dataclass(frozen=True, slots=True)
class UserVarEvent(Event):
    """A USER_VAR event: a variable that the next statement, which is logged as text, reads."""

    variable: str
    """u32 length and name."""
    value: UserVariableValue
    """u8, 1 for NULL, which ends the event; otherwise u8 type, u32 collation, u32 length and value:
    text (bytes if its collation is binary or unknown), f64, i64 or u64, or a decimal (as text)."""
    value_type: UserVarType
    """Of the value; STRING for NULL."""
    collation: int
    """Collation id of the value."""
    value_flags: int
    """u8, absent before 5.6: bit 0 for an unsigned integer."""

    @classmethod
    def parse(cls, body: Cursor) -> UserVarEvent:
        """Read the event."""
        name_length = body.u32()
        variable = body.text(name_length)
        if body.u8():
            return cls(body.header, variable, None, UserVarType.STRING, BINARY_COLLATION, 0)
        value_type = body.u8()
        if value_type not in _READERS:
            raise body.malformed(f"the value type {value_type} is unknown")
        collation = body.u32()
        content = body.part(body.u32())
        value_flags = body.u8() if body.remaining else 0
        value = _READERS[value_type](content, collation, value_flags)
        if content.remaining:
            raise body.malformed(f"its value is followed by {content.remaining} bytes")
        return cls(body.header, variable, value, UserVarType(value_type), collation, value_flags)


def _string(content: Cursor, collation: int, flags: int) -> str | bytes:
    text = content.rest()
    if collation == BINARY_COLLATION:
        return text
    try:
        return decode(text, collation)
    except UnsupportedError:
        return text


def _real(content: Cursor, collation: int, flags: int) -> float:
    (value,) = struct.unpack("<d", content.take(_REAL_LENGTH))
    return float(value)


def _integer(content: Cursor, collation: int, flags: int) -> int:
    signed = not flags & _UNSIGNED
    return int.from_bytes(content.view(_INTEGER_LENGTH), "little", signed=signed)


def _decimal(content: Cursor, collation: int, flags: int) -> str:
    """Read a u8 precision, a u8 scale and the number; return its text as MySQL prints it.

    Format: MySQL `strings/decimal.cc`, `bin2decimal`: groups of nine digits in four bytes; the
    first group of the integral part and the last of the fractional part take only the bytes that
    their digits need. Big-endian, with the highest bit flipped, and all bits inverted for a
    negative number.
    """
    precision, scale = content.u8(), content.u8()
    if not (0 < precision <= _MAX_PRECISION and scale <= min(precision, _MAX_SCALE)):
        raise content.malformed(f"DECIMAL({precision},{scale}) is not a valid type")
    groups = _groups(precision - scale, scale)
    stored = bytearray(content.take(sum(_BYTES_OF_DIGITS[digits] for digits in groups)))
    negative = not stored[0] & 0x80
    stored[0] ^= 0x80
    if negative:
        stored = bytearray(byte ^ 0xFF for byte in stored)
    text, position = "", 0
    for digits in groups:
        end = position + _BYTES_OF_DIGITS[digits]
        group = str(int.from_bytes(stored[position:end], "big")).zfill(digits)
        if len(group) > digits:
            raise content.malformed(f"a group of {digits} decimal digits has the value {group}")
        text, position = text + group, end
    integral = text[: precision - scale].lstrip("0") or "0"
    fraction = f".{text[precision - scale :]}" if scale else ""
    return "-" * negative + integral + fraction


def _groups(integral: int, fractional: int) -> list[int]:
    """Return the number of digits in each group, in order."""
    first, last = integral % _DIGITS_OF_GROUP, fractional % _DIGITS_OF_GROUP
    whole = integral // _DIGITS_OF_GROUP + fractional // _DIGITS_OF_GROUP
    return [digits for digits in (first, *[_DIGITS_OF_GROUP] * whole, last) if digits]


_READERS: dict[int, Callable[[Cursor, int, int], UserVariableValue]] = {
    UserVarType.STRING: _string,
    UserVarType.REAL: _real,
    UserVarType.INTEGER: _integer,
    UserVarType.DECIMAL: _decimal,
}
