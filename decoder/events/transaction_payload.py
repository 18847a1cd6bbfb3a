"""TRANSACTION_PAYLOAD: a transaction's events, compressed (`binlog_transaction_compression=ON`).

Format: MySQL `codecs/binary.cpp`, `Transaction_payload`.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum

from decoder.constants import HEADER_LENGTH
from decoder.events.cursor import Cursor
from decoder.events.event import Event
from decoder.events.format_description import FormatDescriptionEvent
from decoder.events.header import EventHeader

_END = 0
_PAYLOAD_SIZE = 1
_COMPRESSION = 2
_UNCOMPRESSED_SIZE = 3
_INTEGERS = (_PAYLOAD_SIZE, _COMPRESSION, _UNCOMPRESSED_SIZE)

LARGEST_INSIDE = 1 << 30
"""Bytes of an event inside: MySQL `binlog_event.h`, `max_log_event_size`, beyond which its own
`payload_event_buffer_istream.cpp` reads none."""


class Compression(IntEnum):
    """`mysql::binlog::event::compression::type`."""

    ZSTD = 0
    NONE = 255


@dataclass(frozen=True, slots=True)
class TransactionPayloadEvent(Event):
    """Fields of length-encoded type, length and value, ended by type 0; then the payload."""

    compression: Compression
    """2, length-encoded."""
    uncompressed_size: int | None
    """3, length-encoded: bytes of the events inside; None where they are not compressed."""
    payload_size: int
    """1, length-encoded."""
    payload_offset: int
    """Where the payload begins, in bytes from the event's own start."""

    def check_inside(self, size: int) -> None:
        """Raises MalformedError for the size of an event inside that none can have."""
        if self.uncompressed_size is not None and size > self.uncompressed_size:
            raise self.header.malformed(f"an event inside it has {size} bytes, more than all of it")
        if size > LARGEST_INSIDE:
            raise self.header.malformed(
                f"an event inside it has {size} bytes, more than {LARGEST_INSIDE}"
            )

    def check_expanded(self, total: int) -> None:
        """Raises MalformedError where its content is more than it says already."""
        if self.uncompressed_size is not None and total > self.uncompressed_size:
            raise self.header.malformed(
                f"it holds more than the {self.uncompressed_size} bytes that it says"
            )

    @classmethod
    def parse(
        cls, body: memoryview, header: EventHeader, description: FormatDescriptionEvent
    ) -> TransactionPayloadEvent:
        """Read the event from its bytes after the common header, without the checksum."""
        return cls.parse_begun(body, header, len(body))

    @classmethod
    def parse_begun(
        cls, begun: memoryview, header: EventHeader, length: int
    ) -> TransactionPayloadEvent:
        """Read the event from the first bytes of a body of that length, which hold its fields."""
        cursor = Cursor(begun, header)
        values: dict[int, int] = {}
        while (code := cursor.length_encoded()) != _END:
            value = cursor.part(cursor.length_encoded())
            if code in _INTEGERS:
                values[code] = value.length_encoded()
        compression = values.get(_COMPRESSION)
        if compression not in (Compression.ZSTD, Compression.NONE):
            raise header.malformed(f"its compression is {compression}, which is not known")
        size = values.get(_PAYLOAD_SIZE)
        if size != length - cursor.offset:
            raise header.malformed(
                f"its payload has {length - cursor.offset} bytes, not {size} as it says"
            )
        return cls(
            header,
            Compression(compression),
            values.get(_UNCOMPRESSED_SIZE),
            size,
            HEADER_LENGTH + cursor.offset,
        )
