"""USER_VAR: a user variable that the statement after it reads.

Format: MySQL `statement_events.cpp`, `User_var_event`.
"""

from __future__ import annotations

from dataclasses import dataclass

from decoder.constants import BINARY_COLLATION
from decoder.events.cursor import Cursor
from decoder.events.event import Event
from decoder.events.format_description import FormatDescriptionEvent
from decoder.header import EventHeader

_STRING = 0
_TYPES = (_STRING, 1, 2, 4)


@dataclass(frozen=True, slots=True)
class UserVarEvent(Event):
    """Precedes a statement that is logged as text."""

    variable: str
    """u32 length and name."""
    value: bytes | None
    """u8, 1 for NULL, which ends the event. Else u8 type, u32 collation, u32 length and value."""
    value_type: int
    """0 string, 1 double, 2 integer, 4 decimal."""
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
            return cls(header, variable, None, _STRING, BINARY_COLLATION, 0)
        value_type = cursor.u8()
        if value_type not in _TYPES:
            raise header.malformed(f"a value has the type {value_type}")
        collation = cursor.u32()
        value = cursor.take(cursor.u32())
        value_flags = cursor.u8() if cursor.remaining else 0
        return cls(header, variable, value, value_type, collation, value_flags)
