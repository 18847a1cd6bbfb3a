"""WRITE_ROWS, UPDATE_ROWS, DELETE_ROWS, PARTIAL_UPDATE_ROWS: the fields before the row images.

Format: MySQL `rows_event.cpp`, `Rows_event`. Version 2 (from 5.6 on) differs from version 1 only by
the extra data; MySQL 5.1 to 5.5 and MariaDB write version 1. Before 5.1.18 an update had one column
bitmap for both images (PRE_GA_…: MariaDB `sql/log_event_old.cc`, `Old_rows_log_event`). MariaDB can
compress the images (`row_log_event_uncompress`), but not the fields before them. For
`decoder.events` and `binlake inspect`: `decoder.rows` reads the same fields of many events at once
(`grouping.find_group`), and then their images. Change both.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntFlag

from decoder.constants import HEADER_LENGTH, EventType
from decoder.events.cursor import Cursor
from decoder.events.event import Event
from decoder.events.table_map import read_table_id

_VERSION_2 = 10
"""Length of the post-header that has extra data."""
_EXTRA_LENGTH_BYTES = 2
_MAX_COLUMNS = 4096
_NDB = 0
_PARTITION = 1
_T = EventType
_AFTER_ONLY = frozenset(
    {
        *(_T.WRITE_ROWS, _T.WRITE_ROWS_V1, _T.PRE_GA_WRITE_ROWS),
        *(_T.MARIADB_WRITE_ROWS_COMPRESSED, _T.MARIADB_WRITE_ROWS_COMPRESSED_V1),
    }
)
_TWO_BITMAPS = frozenset(
    {
        *(_T.UPDATE_ROWS, _T.UPDATE_ROWS_V1, _T.PARTIAL_UPDATE_ROWS),
        *(_T.MARIADB_UPDATE_ROWS_COMPRESSED, _T.MARIADB_UPDATE_ROWS_COMPRESSED_V1),
    }
)
_ONE_BITMAP_FOR_BOTH = _T.PRE_GA_UPDATE_ROWS
_COMPRESSED = frozenset(kind for kind in EventType if "_ROWS_COMPRESSED" in kind.name)


class RowsFlag(IntFlag):
    """Bits of a rows event's flags."""

    STATEMENT_END = 0x1
    NO_FOREIGN_KEY_CHECKS = 0x2
    RELAXED_UNIQUE_CHECKS = 0x4
    COMPLETE_ROWS = 0x8
    SQL_FOREIGN_KEYS = 0x10
    """From 9.6: rows changed by foreign keys are logged as separate events."""


@dataclass(frozen=True, slots=True)
class RowsEvent(Event):
    """Rows of one table that a statement inserted, updated or deleted."""

    table_id: int
    """u48: the id that a preceding TABLE_MAP assigned; 0xffffff without rows ends a statement."""
    rows_flags: RowsFlag
    """u16."""
    partition: int | None
    """In version 2 a u16 counts the bytes of extra data, itself included. Each starts with a u8
    type; type 1 is the partition as u16."""
    source_partition: int | None
    """For an update another u16: the partition of the row before the update."""
    ndb: bytes | None
    """Type 0: a u8 length, which includes itself and the next byte, and NDB's own data."""
    column_count: int
    """Length-encoded."""
    columns_before: bytes | None
    """A bit per column, lowest first: the columns in the before-image; None for an insert."""
    columns_after: bytes | None
    """The same for the after-image; None for a delete."""
    rows_offset: int
    """Offset of the row images, in bytes from the start of the event."""
    compressed: bool = False
    """True if the images are compressed: one piece, up to the event's end, for
    `decoder.events.mariadb_compression.uncompress`."""

    @classmethod
    def parse(cls, body: Cursor) -> RowsEvent:
        """Read the event."""
        table_id, rows_flags = read_table_id(body)
        partition, source_partition, ndb = None, None, None
        if body.post_header_length(body.header.type, _VERSION_2) == _VERSION_2:
            partition, source_partition, ndb = _extra(body)
        column_count = body.length_encoded()
        if column_count > _MAX_COLUMNS:
            raise body.malformed(f"its column count {column_count} exceeds {_MAX_COLUMNS}")
        bitmap = body.take((column_count + 7) // 8)
        columns_after: bytes | None = None
        if body.header.type in _TWO_BITMAPS:
            columns_after = body.take(len(bitmap))
        elif body.header.type in _AFTER_ONLY or body.header.type == _ONE_BITMAP_FOR_BOTH:
            columns_after = bitmap
        return cls(
            header=body.header,
            table_id=table_id,
            rows_flags=RowsFlag(rows_flags),
            partition=partition,
            source_partition=source_partition,
            ndb=ndb,
            column_count=column_count,
            columns_before=None if body.header.type in _AFTER_ONLY else bitmap,
            columns_after=columns_after,
            rows_offset=HEADER_LENGTH + body.offset,
            compressed=body.header.type in _COMPRESSED,
        )


def _extra(body: Cursor) -> tuple[int | None, int | None, bytes | None]:
    """Return the partition, the source partition, and NDB's data."""
    length = body.u16()
    if length < _EXTRA_LENGTH_BYTES:
        raise body.malformed(
            f"the length {length} of its extra data is smaller than the length field itself"
        )
    data = body.part(length - _EXTRA_LENGTH_BYTES)
    partition, source_partition, ndb = None, None, None
    while data.remaining:
        code = data.u8()
        if code == _NDB:
            ndb_length = data.u8()
            ndb = data.take(max(ndb_length - 1, 0))
        elif code == _PARTITION:
            partition = data.u16()
            source_partition = data.u16() if body.header.type in _TWO_BITMAPS else None
        else:  # written by a newer server: its length is unknown, so the rest cannot be read
            break
    return partition, source_partition, ndb
