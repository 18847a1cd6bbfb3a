"""MariaDB's own events, from the layouts in its `sql/log_event.cc`."""

from __future__ import annotations

import struct
from dataclasses import fields
from typing import Any

import pytest

from decoder import BinlogError
from decoder.constants import EventType
from decoder.errors import MalformedError
from decoder.events.mariadb_compression import uncompress
from decoder.events.mariadb_gtid import (
    MariadbGtidEvent,
    MariadbGtidExtraFlag,
    MariadbGtidFlag,
    XaId,
)
from decoder.events.query_compressed import QueryCompressedEvent
from decoder.events.registry import EVENTS
from decoder.events.rows import RowsEvent
from tests.support.decoder.event_bytes import (
    MARIADB_POST_HEADER_LENGTHS,
    described,
    mariadb_compressed,
    parsed,
)

MARIADB = described("10.11.6-MariaDB-log", MARIADB_POST_HEADER_LENGTHS)
T = EventType
GTID = struct.pack("<QI", 2**63, 3)
BODIES: dict[str, tuple[EventType, bytes, dict[str, Any]]] = {
    "annotate rows": (
        T.MARIADB_ANNOTATE_ROWS,
        "INSERT 'ü'".encode(),
        {"query": "INSERT 'ü'"},
    ),
    "checkpoint": (
        T.MARIADB_BINLOG_CHECKPOINT,
        struct.pack("<I", 10) + b"bin.000001",
        {"log_file": "bin.000001"},
    ),
    "gtid list": (
        T.MARIADB_GTID_LIST,
        struct.pack("<I", 1 << 28 | 2) + struct.pack("<IIQIIQ", 0, 1, 5, 2**32 - 1, 7, 2**63),
        {"list_flags": 1, "gtids": ("0-1-5", f"{2**32 - 1}-7-{2**63}")},
    ),
    "start encryption": (
        T.MARIADB_START_ENCRYPTION,
        struct.pack("<BI", 1, 4) + bytes(range(12)),
        {"scheme": 1, "key_version": 4, "nonce": bytes(range(12))},
    ),
}
GTIDS: dict[str, tuple[bytes, dict[str, Any]]] = {
    "filled up with zeros": (
        GTID + b"\x01" + bytes(6),
        {"flags2": MariadbGtidFlag.STANDALONE, "extra_flags": MariadbGtidExtraFlag(0)},
    ),
    "in a group commit": (
        GTID + b"\x06" + struct.pack("<Q", 44),
        {
            "flags2": MariadbGtidFlag.GROUP_COMMIT_ID | MariadbGtidFlag.TRANSACTIONAL,
            "commit_id": 44,
        },
    ),
    "of an XA transaction": (
        GTID + b"\x40" + struct.pack("<IBB", 1, 2, 1) + b"gtb",
        {"flags2": MariadbGtidFlag.PREPARED_XA, "xa_id": XaId(1, b"gt", b"b")},
    ),
    "of all that there is": (
        GTID
        + b"\x82"
        + struct.pack("<QIBB", 44, 1, 1, 0)
        + b"g"
        + struct.pack("<BBQI", 0x15, 2, 40, 9),
        {
            "flags2": MariadbGtidFlag.GROUP_COMMIT_ID | MariadbGtidFlag.COMPLETED_XA,
            "commit_id": 44,
            "xa_id": XaId(1, b"g", b""),
            "extra_flags": MariadbGtidExtraFlag.MULTI_ENGINE
            | MariadbGtidExtraFlag.COMMIT_ALTER
            | MariadbGtidExtraFlag.THREAD_ID,
            "extra_engines": 2,
            "start_alter_number": 40,
            "thread_id": 9,
        },
    ),
}


def own_fields(event: Any) -> dict[str, Any]:
    return {f.name: getattr(event, f.name) for f in fields(event) if f.name != "header"}


@pytest.mark.parametrize("case", BODIES)
def test_fields(case: str) -> None:
    event_type, body, expected = BODIES[case]
    event = parsed(event_type, body, MARIADB)
    assert type(event) is EVENTS[event_type]
    assert own_fields(event) == expected


@pytest.mark.parametrize("case", sorted(BODIES.keys() - {"annotate rows"}))
def test_a_truncated_event_is_refused(case: str) -> None:
    event_type, body, _ = BODIES[case]
    for end in range(len(body)):
        with pytest.raises(MalformedError):
            parsed(event_type, body[:end], MARIADB)


@pytest.mark.parametrize("case", GTIDS)
def test_gtids(case: str) -> None:
    body, expected = GTIDS[case]
    event = parsed(T.MARIADB_GTID, body, MARIADB)
    assert isinstance(event, MariadbGtidEvent)
    assert event.gtid == f"3-1-{2**63}"
    assert event.standalone == (case == "filled up with zeros")
    nothing = dict.fromkeys(own_fields(event))
    given = {"sequence_number": 2**63, "domain_id": 3, **expected}
    assert own_fields(event) == {**nothing, **given}


def test_a_truncated_gtid_is_refused_or_has_no_extra_flags() -> None:
    body, _ = GTIDS["of all that there is"]
    without_extra = len(body) - 14
    for end in range(len(body)):
        if end == without_extra:
            assert isinstance(parsed(T.MARIADB_GTID, body[:end], MARIADB), MariadbGtidEvent)
            continue
        with pytest.raises(MalformedError):
            parsed(T.MARIADB_GTID, body[:end], MARIADB)


QUERY = struct.pack("<IIBHH", 9, 0, 4, 0, 4) + b"\x80\x01\x02\x03" + b"shop\0"


def test_a_compressed_query_is_a_query() -> None:
    text = "CREATE TABLE t (a INT COMMENT 'ü')"
    body = QUERY + mariadb_compressed(text.encode())
    event = parsed(T.MARIADB_QUERY_COMPRESSED, body, MARIADB)
    assert type(event) is QueryCompressedEvent
    assert (event.schema, event.query, event.status.hrnow) == ("shop", text, 0x030201)
    for end in range(len(body)):
        with pytest.raises(BinlogError) as caught:
            parsed(T.MARIADB_QUERY_COMPRESSED, body[:end], MARIADB)
        assert caught.value.position == 1234


def rows_body(kind: EventType, content: bytes) -> bytes:
    extra = b"" if kind.name.endswith("_V1") else b"\x02\0"
    bitmaps = b"\x03\x01" if "UPDATE" in kind.name else b"\x03"
    return struct.pack("<IHH", 95, 0, 1) + extra + b"\x02" + bitmaps + content


@pytest.mark.parametrize("kind", [kind for kind in EventType if "_ROWS_COMPRESSED" in kind.name])
def test_compressed_rows_have_the_usual_head(kind: EventType) -> None:
    images = bytes(range(100))
    body = rows_body(kind, mariadb_compressed(images))
    event = parsed(kind, body, MARIADB)
    assert isinstance(event, RowsEvent)
    assert (event.table_id, event.rows_flags, event.column_count) == (95, 1, 2)
    assert event.compressed
    assert uncompress(body[event.rows_offset - 19 :]) == images
    before, after = {
        "WRITE": (None, b"\x03"),
        "UPDATE": (b"\x03", b"\x01"),
        "DELETE": (b"\x03", None),
    }[kind.name.split("_")[1]]
    assert (event.columns_before, event.columns_after) == (before, after)


@pytest.mark.parametrize("length", [6, 8])
@pytest.mark.parametrize("kind", [T.PRE_GA_WRITE_ROWS, T.PRE_GA_UPDATE_ROWS, T.PRE_GA_DELETE_ROWS])
def test_pre_ga_rows_have_one_bitmap(kind: EventType, length: int) -> None:
    """Before 5.1.4 they also have table ids of four bytes."""
    lengths = bytearray(27)
    lengths[kind - 1] = length
    body = struct.pack("<I", 95) + bytes(length - 6) + struct.pack("<H", 1) + b"\x02\x03images"
    event = parsed(kind, body, described("5.1.3", bytes(lengths), None))
    assert isinstance(event, RowsEvent)
    assert (event.table_id, event.rows_flags, event.column_count) == (95, 1, 2)
    assert body[event.rows_offset - 19 :] == b"images"
    assert event.columns_before == (None if kind == T.PRE_GA_WRITE_ROWS else b"\x03")
    assert event.columns_after == (None if kind == T.PRE_GA_DELETE_ROWS else b"\x03")
    assert not event.compressed
