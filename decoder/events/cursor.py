"""The only reader of bytes in the control events: bounds-checked, and every fault names the event.

All integers are little-endian and unsigned unless a method says otherwise.
"""

from __future__ import annotations

from decoder.errors import MalformedError
from decoder.events.header import EventHeader

_LENGTH_ENCODED_SIZES = {252: 2, 253: 3, 254: 8}


class Cursor:
    """Reads forward through an event's bytes; a read past their end raises MalformedError."""

    __slots__ = ("_data", "_header", "_offset")

    def __init__(self, data: memoryview, header: EventHeader) -> None:
        self._data = data
        self._header = header
        self._offset = 0

    @property
    def offset(self) -> int:
        """How many bytes have been read."""
        return self._offset

    @property
    def remaining(self) -> int:
        """How many bytes are left."""
        return len(self._data) - self._offset

    def view(self, length: int) -> memoryview:
        """The next bytes, not copied."""
        if length > self.remaining:
            raise self._header.malformed(
                f"{length} bytes are announced at byte {self._offset} of its body, "
                f"where {self.remaining} are left"
            )
        start = self._offset
        self._offset += length
        return self._data[start : self._offset]

    def take(self, length: int) -> bytes:
        """The next bytes."""
        return bytes(self.view(length))

    def rest(self) -> bytes:
        """All bytes that are left."""
        return self.take(self.remaining)

    def part(self, length: int) -> Cursor:
        """A cursor over the next bytes alone; this one goes on behind them."""
        return Cursor(self.view(length), self._header)

    def skip(self, length: int) -> None:
        """Leave bytes out."""
        self.view(length)

    def text(self, length: int) -> str:
        """A name of that many bytes in UTF-8; what is not UTF-8 becomes U+FFFD."""
        return self.take(length).decode("utf-8", "replace")

    def null_terminated(self) -> str:
        """A name in UTF-8 that ends before a zero byte."""
        ahead = bytes(self._data[self._offset :])
        end = ahead.find(0)
        if end < 0:
            raise self.malformed("a name does not end in a zero byte")
        self.skip(end + 1)
        return ahead[:end].decode("utf-8", "replace")

    def uint(self, length: int) -> int:
        """An integer of any number of bytes."""
        return int.from_bytes(self.view(length), "little")

    def u8(self) -> int:
        """A 1-byte integer."""
        return self.uint(1)

    def u16(self) -> int:
        """A 2-byte integer."""
        return self.uint(2)

    def u32(self) -> int:
        """A 4-byte integer."""
        return self.uint(4)

    def u48(self) -> int:
        """A 6-byte integer."""
        return self.uint(6)

    def u64(self) -> int:
        """An 8-byte integer."""
        return self.uint(8)

    def i64(self) -> int:
        """An 8-byte signed integer."""
        return int.from_bytes(self.view(8), "little", signed=True)

    def length_encoded(self) -> int:
        """The client protocol's packed integer: 1, 3, 4 or 9 bytes (`net_field_length_ll`)."""
        first = self.u8()
        if first < 251:
            return first
        if first not in _LENGTH_ENCODED_SIZES:
            raise self.malformed(f"{first:#x} does not start a length-encoded integer")
        return self.uint(_LENGTH_ENCODED_SIZES[first])

    def varint(self) -> int:
        """An unsigned integer of MySQL's serialization library, 1 to 9 bytes.

        The trailing ones of the first byte count the bytes that follow it; the value's bits start
        above them and their closing zero (`libs/mysql/serialization/variable_length_integers.h`).
        """
        first = self.u8()
        following = (~first & (first + 1)).bit_length() - 1
        if following >= 8:
            return self.u64()
        low_bits = 7 - following
        return self.uint(following) << low_bits | first >> (following + 1)

    def signed_varint(self) -> int:
        """A signed integer of the serialization library: the lowest bit is the sign."""
        value = self.varint()
        return ~(value >> 1) if value & 1 else value >> 1

    def malformed(self, reason: str) -> MalformedError:
        """The error to raise for a contradiction in what was read."""
        return self._header.malformed(reason)
