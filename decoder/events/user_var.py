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
from decoder.events.decimal_value import read_decimal
from decoder.events.event import Event
from decoder.events.format_description import FormatDescriptionEvent
from decoder.events.header import EventHeader

_UNSIGNED = 0x1
_REAL_LENGTH = _INTEGER_LENGTH = 8

Value: TypeAlias = str | bytes | float | int | None


class UserVarType(IntEnum):
    """`Item_result`; 3 is a row, which a variable cannot hold."""

    STRING = 0
    REAL = 1
    INTEGER = 2
    DECIMAL = 4


@dataclass(frozen=True, slots=True)
class UserVarEvent(Event):
    """Precedes a statement that is logged as text."""

    variable: str
    """u32 length and name."""
    value: Value
    """u8, 1 for NULL, which ends the event; otherwise u8 type, u32 collation, u32 length and value:
    text (bytes if its collation is binary or unknown), f64, i64 or u64, or a decimal (as text)."""
    value_type: UserVarType
    """Of the value; STRING for NULL."""
    collation: int
    """Collation id of the value."""
    value_flags: int
    """u8, absent before 5.6: bit 0 for an unsigned integer."""

    @classmethod
    def parse(
        cls, body: memoryview, header: EventHeader, description: FormatDescriptionEvent
    ) -> UserVarEvent:
        """Read the event from its bytes after the common header, without the checksum."""
        cursor = Cursor(body, header)
        name_length = cursor.u32()
        variable = cursor.text(name_length)
        if cursor.u8():
            return cls(header, variable, None, UserVarType.STRING, BINARY_COLLATION, 0)
        value_type = cursor.u8()
        if value_type not in _READERS:
            raise header.malformed(f"the value type {value_type} is unknown")
        collation = cursor.u32()
        content = cursor.part(cursor.u32())
        value_flags = cursor.u8() if cursor.remaining else 0
        value = _READERS[value_type](content, collation, value_flags)
        if content.remaining:
            raise header.malformed(f"its value is followed by {content.remaining} bytes")
        return cls(header, variable, value, UserVarType(value_type), collation, value_flags)


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
    return read_decimal(content)


_READERS: dict[int, Callable[[Cursor, int, int], Value]] = {
    UserVarType.STRING: _string,
    UserVarType.REAL: _real,
    UserVarType.INTEGER: _integer,
    UserVarType.DECIMAL: _decimal,
}
