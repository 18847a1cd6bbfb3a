"""Rows of types that current servers do not write: handmade logs in the format of old servers."""

from __future__ import annotations

import struct
from datetime import datetime, timezone
from typing import Any

import pytest

from decoder.constants import ColumnType as T, EventType
from tests.support.decoder.event_bytes import (
    POST_HEADER_LENGTHS,
    event_bytes,
    format_description,
    log_bytes,
    metadata_field,
    table_map,
)
from tests.support.decoder.logs import changed, decoded, faults, query, xid

OLD = format_description("5.5.62-log", None)
EARLY_8_0 = format_description("8.0.13")
MARIADB = format_description("10.11.18-MariaDB", lengths=POST_HEADER_LENGTHS + bytes(130))
INSERT = {OLD: EventType.WRITE_ROWS_V1, MARIADB: EventType.WRITE_ROWS_V1}


def log_of(description: bytes, map_body: bytes, columns: int, *images: bytes) -> bytes:
    """Return a log in which rows with these images are inserted."""
    kind = INSERT.get(description, EventType.WRITE_ROWS)
    body = struct.pack("<IHH", 7, 0, 1)
    body += struct.pack("<H", 2) if kind == EventType.WRITE_ROWS else b""
    body += bytes([columns]) + b"\xff" * ((columns + 7) // 8) + b"".join(images)
    events = [query("BEGIN"), event_bytes(EventType.TABLE_MAP, map_body), event_bytes(kind, body)]
    return log_bytes(*events, xid(), description=description)


def inserted(log: bytes) -> list[tuple[Any, ...]]:
    results = decoded(log)
    assert faults(results) == []
    return [after for _, _, _, after in changed(results)]


def test_dates_and_times_from_before_5_6_4() -> None:
    types = [T.TIME, T.DATETIME, T.TIMESTAMP, T.DATE, T.NEWDATE, T.YEAR]
    day = (2012 << 9 | 2 << 5 | 29).to_bytes(3, "little")
    moments = (
        (-8385959).to_bytes(3, "little", signed=True)
        + struct.pack("<QI", 20120229123456, 1_330_518_896)
        + day
        + day
        + b"\x70"
    )
    rows = inserted(log_of(OLD, table_map(types, b""), 6, b"\xc0" + moments, b"\xff"))
    date = datetime(2012, 2, 29).date()
    moment = datetime(2012, 2, 29, 12, 34, 56)
    instant = moment.replace(tzinfo=timezone.utc)
    assert rows == [("-838:59:59", moment, instant, date, date, 2012), (None,) * 6]


def test_strings_of_every_kind() -> None:
    types = [T.VAR_STRING, T.VAR_STRING, T.STRING, T.STRING, T.VARCHAR]
    metadata = struct.pack("<HH", 100, 300)
    metadata += bytes([T.STRING ^ 0x30, 1020 & 0xFF]) + bytes([T.STRING, 9])
    metadata += struct.pack("<H", 9)
    image = b"\xe0" + b"\x03abc" + b"\x04\x00long" + b"\x2c\x01" + b"w" * 300 + b"\x01c" + b"\x00"
    rows = inserted(log_of(OLD, table_map(types, metadata), 5, image))
    assert rows == [("abc", "long", "w" * 300, "c", "")]


def hidden_columns(*names: bytes) -> bytes:
    return metadata_field(4, b"".join(bytes([len(name)]) + name for name in names))


def test_columns_of_functional_indexes_are_skipped() -> None:
    """As in the first releases of MySQL 8.0: a plain index and a multi-valued one's array."""
    types = [T.LONG, T.LONGLONG, T.TYPED_ARRAY, T.LONG, T.TYPED_ARRAY]
    metadata = bytes([T.LONGLONG]) + bytes([T.VARCHAR, 100, 0, 0])
    names = hidden_columns(b"id", b"!hidden!f!0!0", b"!hidden!m!0!0", b"n", b"!hidden!m!1!0")
    body = table_map(types, metadata, names)
    array = b"\x02\x01\x00\x07\x00\x05\x07\x00"
    sized = struct.pack("<I", len(array)) + array
    whole = b"\xe0" + struct.pack("<iq", 1, 2) + sized + struct.pack("<i", 3) + sized
    without = b"\xf6" + struct.pack("<ii", 4, 5)
    results = decoded(log_of(EARLY_8_0, body, 5, whole, without, whole))
    assert faults(results) == []
    assert changed(results) == [
        ("t", "insert", None, (1, 3)),
        ("t", "insert", None, (4, 5)),
        ("t", "insert", None, (1, 3)),
    ]


@pytest.mark.parametrize(
    ("description", "kind", "reason"),
    [
        (OLD, T.DECIMAL, "a DECIMAL from before MySQL 5.0"),
        (MARIADB, T.TIME, "mysql56_temporal_format=OFF"),
        (MARIADB, T.DATETIME, "mysql56_temporal_format=OFF"),
        (MARIADB, T.TIMESTAMP, "mysql56_temporal_format=OFF"),
    ],
)
def test_rows_whose_layout_is_unknown_are_a_fault(description: bytes, kind: T, reason: str) -> None:
    body = table_map([T.LONG, kind], b"")
    results = decoded(log_of(description, body, 2, b"\xfc" + bytes(4) + b"12345678"))
    assert changed(results) == []
    (fault,) = faults(results)
    assert reason in str(fault["reason"])
    assert fault["tables"] == ["s.t"]
