"""TRANSACTION_PAYLOAD: the compressed events of a transaction.

Written with `binlog_transaction_compression=ON`.

Format: MySQL `codecs/binary.cpp`, `Transaction_payload`.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum

from decoder.constants import HEADER_LENGTH
from decoder.events.cursor import Cursor
from decoder.events.event import Event
from decoder.events.header import EventHeader

_END = 0
_PAYLOAD_SIZE = 1
_COMPRESSION = 2
_UNCOMPRESSED_SIZE = 3
_INTEGERS = (_PAYLOAD_SIZE, _COMPRESSION, _UNCOMPRESSED_SIZE)

LARGEST_INSIDE = 1 << 30
"""The largest inner event in bytes: MySQL `binlog_event.h`, `max_log_event_size`, which its own
reader enforces (`payload_event_buffer_istream.cpp`)."""


class Compression(IntEnum):
    """`mysql::binlog::event::compression::type`."""

    ZSTD = 0
    NONE = 255


@dataclass(frozen=True, slots=True)
class TransactionPayloadEvent(Event):
    """A payload, after fields of length-encoded type, length and value, ended by type 0."""

    compression: Compression
    """2, length-encoded."""
    uncompressed_size: int | None
    """3, length-encoded: bytes of the inner events; None if they are not compressed."""
    payload_size: int
    """1, length-encoded."""
    payload_offset: int
    """Offset of the payload, in bytes from the start of the event."""

    def check_inside(self, size: int) -> None:
        """Raise MalformedError if `size` is too large for an inner event."""
        if self.uncompressed_size is not None and size > self.uncompressed_size:
            raise self.header.malformed(
                f"an inner event has {size} bytes,"
                f" more than the announced {self.uncompressed_size} of the payload"
            )
        if size > LARGEST_INSIDE:
            raise self.header.malformed(
                f"an inner event has {size} bytes; the limit is {LARGEST_INSIDE}"
            )

    def check_expanded(self, total: int) -> None:
        """Raise MalformedError if `total` decompressed bytes exceed the announced size."""
        if self.uncompressed_size is not None and total > self.uncompressed_size:
            raise self.header.malformed(
                "its content decompresses to more than the announced"
                f" {self.uncompressed_size} bytes"
            )

    @classmethod
    def parse(cls, body: Cursor) -> TransactionPayloadEvent:
        """Read the event."""
        data = body.view(body.remaining)
        return cls.parse_prefix(data, body.header, len(data))

    @classmethod
    def parse_prefix(
        cls, first_bytes: memoryview, header: EventHeader, length: int
    ) -> TransactionPayloadEvent:
        """Read the event from `first_bytes`, the first bytes of a body of `length` bytes.

        `first_bytes` must contain all fields before the payload.
        """
        cursor = Cursor(first_bytes, header)
        values: dict[int, int] = {}
        while (code := cursor.length_encoded()) != _END:
            value = cursor.part(cursor.length_encoded())
            if code in _INTEGERS:
                values[code] = value.length_encoded()
        compression = values.get(_COMPRESSION)
        if compression not in (Compression.ZSTD, Compression.NONE):
            raise header.malformed(f"its compression type {compression} is unknown")
        size = values.get(_PAYLOAD_SIZE)
        if size != length - cursor.offset:
            raise header.malformed(
                f"its payload has {length - cursor.offset} bytes, not the announced {size}"
            )
        return cls(
            header,
            Compression(compression),
            values.get(_UNCOMPRESSED_SIZE),
            size,
            HEADER_LENGTH + cursor.offset,
        )
