"""Row-based logs built event by event: transactions over tables of INT and VARCHAR."""

from __future__ import annotations

import struct
import zlib
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from decoder import SegmentDecoder, TypeOptions
from decoder.constants import MAGIC, ColumnType, EventType
from decoder.model.results import Changes, Faults, Result, Transactions
from decoder.model.segment import Segment
from tests.support.decoder.event_bytes import event_bytes, format_description, length_encoded

SERVER_UUID = bytes(range(16))
UUID_TEXT = "00010203-0405-0607-0809-0a0b0c0d0e0f"
INT, VARCHAR, BIG_VARCHAR, LONGTEXT = "int", "varchar", "big varchar", "longtext"
JSON = "json"
Value = Any
_TYPES = {
    INT: (ColumnType.LONG, b""),
    VARCHAR: (ColumnType.VARCHAR, struct.pack("<H", 200)),
    BIG_VARCHAR: (ColumnType.VARCHAR, struct.pack("<H", 60_000)),
    LONGTEXT: (ColumnType.BLOB, b"\x04"),
    JSON: (ColumnType.JSON, b"\x04"),
}
_CHARSET_UTF8MB4 = 45


@dataclass(frozen=True)
class Table:
    """A table with an id, all its columns nullable."""

    table_id: int
    name: str
    columns: tuple[str, ...]
    schema: str = "shop"

    def map(self) -> bytes:
        """Return its TABLE_MAP, with signedness and charset."""
        types = bytes(_TYPES[column][0] for column in self.columns)
        metadata = b"".join(_TYPES[column][1] for column in self.columns)
        count = len(self.columns)
        numeric = (sum(column == INT for column in self.columns) + 7) // 8
        optional = b"\x01" + length_encoded(numeric) + bytes(numeric)
        optional += b"\x02" + length_encoded(1) + bytes([_CHARSET_UTF8MB4])
        body = struct.pack("<Q", self.table_id)[:6] + struct.pack("<H", 1)
        for name in (self.schema, self.name):
            body += bytes([len(name)]) + name.encode() + b"\0"
        body += length_encoded(count) + types + length_encoded(len(metadata)) + metadata
        body += b"\xff" * ((count + 7) // 8)
        return event_bytes(EventType.TABLE_MAP, body + optional)

    def image(self, row: Sequence[Value]) -> bytes:
        """Return a row image: NULL bitmap, values."""
        count = len(self.columns)
        nulls = sum(1 << index for index, value in enumerate(row) if value is None)
        unused = (1 << 8 * ((count + 7) // 8)) - (1 << count)
        content = (nulls | unused).to_bytes((count + 7) // 8, "little")
        for column, value in zip(self.columns, row, strict=True):
            if value is not None:
                content += _value(column, value)
        return content

    def rows(
        self,
        *images: Sequence[Value],
        kind: EventType = EventType.WRITE_ROWS,
        present: bytes | None = None,
        end: bool = True,
        extra: bytes = b"",
        flags: int = 0,
    ) -> bytes:
        """Return a rows event; an update has alternating before and after images."""
        count = len(self.columns)
        bitmap = present or b"\xff" * ((count + 7) // 8)
        version_1 = kind in (
            *(EventType.WRITE_ROWS_V1, EventType.UPDATE_ROWS_V1, EventType.DELETE_ROWS_V1),
        )
        body = struct.pack("<Q", self.table_id)[:6] + struct.pack("<H", int(end) | flags)
        body += b"" if version_1 else struct.pack("<H", 2 + len(extra)) + extra
        twice = kind in (EventType.UPDATE_ROWS, EventType.UPDATE_ROWS_V1)
        body += length_encoded(count) + bitmap * (1 + twice)
        return event_bytes(kind, body + b"".join(self.image(row) for row in images))


def _value(column: str, value: int | str | bytes) -> bytes:
    if isinstance(value, int):
        return struct.pack("<i", value)
    text = value.encode() if isinstance(value, str) else value
    prefix = {VARCHAR: 1, BIG_VARCHAR: 2, LONGTEXT: 4, JSON: 4}[column]
    return len(text).to_bytes(prefix, "little") + text


def gtid(number: int, *, committed: int | None = 1_700_000_000_123_456) -> bytes:
    """Return a GTID event of 8.0; with `committed` None, of 5.6."""
    body = b"\x01" + SERVER_UUID + struct.pack("<q", number)
    if committed is not None:
        body += b"\x02" + struct.pack("<qq", 0, 1) + committed.to_bytes(7, "little")
    return event_bytes(EventType.GTID, body)


def query(text: str, schema: str = "shop") -> bytes:
    """Return a QUERY without status variables."""
    head = struct.pack("<IIBHH", 9, 0, len(schema), 0, 0)
    return event_bytes(EventType.QUERY, head + schema.encode() + b"\0" + text.encode())


def xid(number: int = 5) -> bytes:
    """Return the XID that commits an InnoDB transaction."""
    return event_bytes(EventType.XID, struct.pack("<Q", number))


def transaction(number: int, *events: bytes) -> bytes:
    """Return GTID, BEGIN, the events, XID."""
    return b"".join([gtid(number), query("BEGIN"), *events, xid(number)])


def payload(events: bytes, *, compressed: bytes | None = None, size: int | None = None) -> bytes:
    """Return a TRANSACTION_PAYLOAD, by default uncompressed; `size` is the announced size."""
    content = events if compressed is None else compressed
    kind = 255 if compressed is None else 0
    announced = length_encoded(len(events) if size is None else size)
    stored = length_encoded(len(content))
    body = b"\x02" + length_encoded(len(length_encoded(kind))) + length_encoded(kind)
    body += b"\x03" + bytes([len(announced)]) + announced
    body += b"\x01" + bytes([len(stored)]) + stored + b"\x00"
    return event_bytes(EventType.TRANSACTION_PAYLOAD, body + content)


def with_checksums(*events: bytes) -> bytes:
    """Return a whole log of these events, each with a CRC32."""
    described = format_description(algorithm=1)
    return b"".join([MAGIC, described, *(_with_checksum(event) for event in split(*events))])


def _with_checksum(event: bytes) -> bytes:
    event = event[:9] + struct.pack("<I", len(event) + 4) + event[13:]
    return event + struct.pack("<I", zlib.crc32(event))


def split(*events: bytes) -> list[bytes]:
    """Split concatenated events (without checksums)."""
    content, found = b"".join(events), []
    while content:
        size = int.from_bytes(content[9:13], "little")
        found.append(content[:size])
        content = content[size:]
    return found


def decoded(log: bytes, segment: Segment | None = None, **options: Any) -> list[Result]:
    """Return all results of decoding a segment."""
    unit = SegmentDecoder(segment or Segment("binlog.000001", 1), TypeOptions(), **options)
    return list(unit.decode([log]))


def changed(results: Sequence[Result]) -> list[tuple[object, ...]]:
    """Return (table, op, values before, values after) of every change, in log order."""
    found = []
    for result in results:
        if isinstance(result, Changes):
            result.batch.validate(full=True)
            found += [(result.table, row) for row in result.batch.to_pylist()]
    found.sort(key=lambda item: (item[1]["__lsn"], item[1]["__pos"], item[1]["__row"]))
    return [
        (
            table,
            row["__op"],
            *(tuple(row[k].values()) if row[k] else None for k in ("before", "after")),
        )
        for table, row in found
    ]


def faults(results: Sequence[Result]) -> list[dict[str, object]]:
    """Return the rows of all fault batches."""
    return [row for r in results if isinstance(r, Faults) for row in r.batch.to_pylist()]


def transactions(results: Sequence[Result]) -> list[dict[str, object]]:
    """Return the rows of all transaction batches."""
    return [row for r in results if isinstance(r, Transactions) for row in r.batch.to_pylist()]


CUP = Table(7, "cup", (INT, VARCHAR))
POT = Table(8, "pot", (INT,))
"""Tables for logs that do not need special ones."""


def insert(table: Table, *rows: Any) -> bytes:
    """Return a table's TABLE_MAP and the inserted rows."""
    return table.map() + table.rows(*rows)


def _overrunning() -> bytes:
    event = CUP.rows((1, "abc"))[:-1]
    return event[:9] + struct.pack("<I", len(event)) + event[13:]


OVERRUN = _overrunning()
"""Rows whose last value extends beyond their event."""
