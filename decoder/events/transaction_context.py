"""TRANSACTION_CONTEXT: the data by which group replication certifies a transaction.

Format: MySQL `control_events.cpp`, `Transaction_context_event`.
"""

from __future__ import annotations

from dataclasses import dataclass

from decoder.events.cursor import Cursor
from decoder.events.event import Event


@dataclass(frozen=True, slots=True)
class TransactionContextEvent(Event):
    """A transaction's certification data, sent within a group; seen in relay logs."""

    server_uuid: str
    """u8 length; the text follows all lengths."""
    thread_id: int
    """u32."""
    gtid_specified: bool
    """u8."""
    snapshot_version: bytes
    """u32 length; an encoded GTID set, after the UUID."""
    write_set: tuple[bytes, ...]
    """u32 count; after the snapshot, a u16 length and bytes for each."""
    read_set: tuple[bytes, ...]
    """u32 count; the same, after the write set."""

    @classmethod
    def parse(cls, body: Cursor) -> TransactionContextEvent:
        """Read the event."""
        uuid_length = body.u8()
        thread_id = body.u32()
        gtid_specified = body.u8() != 0
        snapshot_length, writes, reads = body.u32(), body.u32(), body.u32()
        return cls(
            body.header,
            body.text(uuid_length),
            thread_id,
            gtid_specified,
            body.take(snapshot_length),
            _items(body, writes),
            _items(body, reads),
        )


def _items(cursor: Cursor, count: int) -> tuple[bytes, ...]:
    if 2 * count > cursor.remaining:
        raise cursor.malformed(f"{count} items do not fit in the {cursor.remaining} bytes left")
    return tuple(cursor.take(cursor.u16()) for _ in range(count))
