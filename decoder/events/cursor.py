"""A bounds-checked reader of an event's bytes, whose errors name the event.

All integers are little-endian and unsigned unless a method states otherwise. A newer server may
append fields to a post-header; those that this decoder knows come first.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from decoder.errors import MalformedError
from decoder.events.header import EventHeader

if TYPE_CHECKING:
    from decoder.events.format_description import FormatDescriptionEvent

_LENGTH_ENCODED_SIZES = {252: 2, 253: 3, 254: 8}


class Cursor:
    """A forward reader of an event's bytes; reading past the end raises MalformedError.

    `description` is the layout of the log at this event, if that matters to its content.
    """

    __slots__ = ("_data", "_description", "_offset", "header")

    def __init__(
        self,
        data: memoryview,
        header: EventHeader,
        description: FormatDescriptionEvent | None = None,
    ) -> None:
        self._data = data
        self.header = header
        self._description = description
        self._offset = 0

    @property
    def mariadb(self) -> bool:
        """True if MariaDB wrote the log."""
        return self._description is not None and self._description.mariadb

    def post_header_length(self, event_type: int, default: int) -> int:
        """Return the bytes of a type's post-header in this log, or `default` if it has none."""
        if self._description is None:
            return default
        return self._description.post_header_length(event_type, default)

    def post_header(self, length: int, *, shortest: int | None = None) -> Cursor:
        """Read the post-header: the fixed part of the body. Return a cursor over it only.

        `length` is the length that this decoder reads, also used if FORMAT_DESCRIPTION has none for
        the event's type. Raises MalformedError if the announced length is less than `shortest`
        (default: `length`).
        """
        announced = self.post_header_length(self.header.type, length)
        if announced < (length if shortest is None else shortest):
            raise self.malformed(f"a post-header of {announced} bytes is too short")
        return self.part(announced)

    @property
    def offset(self) -> int:
        """Number of bytes read so far."""
        return self._offset

    @property
    def remaining(self) -> int:
        """Number of bytes left."""
        return len(self._data) - self._offset

    def view(self, length: int) -> memoryview:
        """Read the next bytes without copying them."""
        if length > self.remaining:
            raise self.header.malformed(
                f"{length} bytes are expected at byte {self._offset} of its body, "
                f"but only {self.remaining} are left"
            )
        start = self._offset
        self._offset += length
        return self._data[start : self._offset]

    def take(self, length: int) -> bytes:
        """Read the next bytes."""
        return bytes(self.view(length))

    def rest(self) -> bytes:
        """Read all remaining bytes."""
        return self.take(self.remaining)

    def part(self, length: int) -> Cursor:
        """Return a cursor over the next bytes only, and skip them in this one."""
        return Cursor(self.view(length), self.header)

    def skip(self, length: int) -> None:
        """Skip the next bytes."""
        self.view(length)

    def text(self, length: int) -> str:
        """Read a UTF-8 string of `length` bytes; invalid bytes become U+FFFD."""
        return self.take(length).decode("utf-8", "replace")

    def null_terminated(self) -> str:
        """Read a UTF-8 string terminated by a zero byte; invalid bytes become U+FFFD."""
        ahead = bytes(self._data[self._offset :])
        end = ahead.find(0)
        if end < 0:
            raise self.malformed("a name is not terminated by a zero byte")
        self.skip(end + 1)
        return ahead[:end].decode("utf-8", "replace")

    def name(self, length: int) -> str:
        """Read a UTF-8 name of `length` bytes, and the zero byte after it."""
        name = self.text(length)
        if self.u8():
            raise self.malformed("a name is not terminated by a zero byte")
        return name

    def uint(self, length: int) -> int:
        """Read an integer of `length` bytes."""
        return int.from_bytes(self.view(length), "little")

    def u8(self) -> int:
        """Read a 1-byte integer."""
        return self.uint(1)

    def u16(self) -> int:
        """Read a 2-byte integer."""
        return self.uint(2)

    def u32(self) -> int:
        """Read a 4-byte integer."""
        return self.uint(4)

    def u48(self) -> int:
        """Read a 6-byte integer."""
        return self.uint(6)

    def u64(self) -> int:
        """Read an 8-byte integer."""
        return self.uint(8)

    def i64(self) -> int:
        """Read an 8-byte signed integer."""
        return int.from_bytes(self.view(8), "little", signed=True)

    def length_encoded(self) -> int:
        """Read a length-encoded integer of 1, 3, 4 or 9 bytes (`net_field_length_ll`)."""
        first = self.u8()
        if first < 251:
            return first
        if first not in _LENGTH_ENCODED_SIZES:
            raise self.malformed(f"{first:#x} is not the first byte of a length-encoded integer")
        return self.uint(_LENGTH_ENCODED_SIZES[first])

    def varint(self) -> int:
        """Read an unsigned integer of MySQL's serialization library, of 1 to 9 bytes.

        The number of trailing ones in the first byte is the number of bytes that follow it; after
        them and a zero bit comes the value
        (`libs/mysql/serialization/variable_length_integers.h`).
        """
        first = self.u8()
        following = (~first & (first + 1)).bit_length() - 1
        if following >= 8:
            return self.u64()
        low_bits = 7 - following
        return self.uint(following) << low_bits | first >> (following + 1)

    def signed_varint(self) -> int:
        """Read a signed integer of the serialization library: the lowest bit is the sign."""
        value = self.varint()
        return ~(value >> 1) if value & 1 else value >> 1

    def malformed(self, reason: str) -> MalformedError:
        """Return an error for this event, for the caller to raise."""
        return self.header.malformed(reason)
