from __future__ import annotations

import struct
from dataclasses import fields
from typing import Any

import pytest

from decoder import events
from decoder.constants import EventFlag, EventType
from decoder.errors import MalformedError
from decoder.events.event import Event
from decoder.events.registry import EVENTS
from decoder.events.stop import StopEvent
from decoder.events.transaction_payload import Compression, TransactionPayloadEvent
from decoder.events.unknown import UnknownEvent
from decoder.events.user_var import UserVarEvent, UserVarType
from decoder.events.xa_prepare import XaPrepareEvent
from decoder.events.xid import XidEvent
from tests.support.decoder.event_bytes import length_encoded, parsed, recorded

BODIES: dict[str, tuple[EventType, bytes, dict[str, Any]]] = {
    "rotate": (
        EventType.ROTATE,
        struct.pack("<Q", 4) + b"binlog.000002",
        {"next_position": 4, "next_file": "binlog.000002"},
    ),
    "stop": (EventType.STOP, b"", {}),
    "xid": (EventType.XID, struct.pack("<Q", 2**63), {"xid": 2**63}),
    "rows query": (
        EventType.ROWS_QUERY,
        b"\x02" + "INSERT 'ü'".encode(),
        {"query": "INSERT 'ü'"},
    ),
    "intvar": (EventType.INTVAR, b"\x02" + struct.pack("<Q", 9), {"variable": 2, "value": 9}),
    "rand": (EventType.RAND, struct.pack("<QQ", 5, 6), {"seed1": 5, "seed2": 6}),
    "a user variable of 5.5": (
        EventType.USER_VAR,
        struct.pack("<I", 1) + b"v\0\x02" + struct.pack("<IIq", 63, 8, -5),
        {
            "variable": "v",
            "value": -5,
            "value_type": UserVarType.INTEGER,
            "collation": 63,
            "value_flags": 0,
        },
    ),
    "ignorable": (EventType.IGNORABLE, b"whatever", {"content": b"whatever"}),
    "incident": (
        EventType.INCIDENT,
        struct.pack("<HB", 1, 4) + b"lost",
        {"incident": 1, "message": "lost"},
    ),
    "xa prepare": (
        EventType.XA_PREPARE,
        struct.pack("<BIII", 1, 7, 2, 1) + b"gtb",
        {"one_phase": True, "format_id": 7, "global_id": b"gt", "branch": b"b"},
    ),
    "append block": (
        EventType.APPEND_BLOCK,
        struct.pack("<I", 3) + b"lines",
        {"file_id": 3, "block": b"lines"},
    ),
    "begin load query": (
        EventType.BEGIN_LOAD_QUERY,
        struct.pack("<I", 3) + b"lines",
        {"file_id": 3, "block": b"lines"},
    ),
    "delete file": (EventType.DELETE_FILE, struct.pack("<I", 3), {"file_id": 3}),
    "heartbeat": (EventType.HEARTBEAT, b"binlog.000001", {"log_file": "binlog.000001"}),
    "heartbeat v2": (
        EventType.HEARTBEAT_V2,
        b"\x01\x03log" + b"\x63\x01x" + b"\x02\x09" + length_encoded(2**40) + b"\x00",
        {"log_file": "log", "log_position": 2**40},
    ),
    "transaction context": (
        EventType.TRANSACTION_CONTEXT,
        struct.pack("<BIBIII", 4, 8, 1, 3, 2, 1) + b"uuidsnp" + b"\x01\0a\x02\0bc" + b"\0\0",
        {
            "server_uuid": "uuid",
            "thread_id": 8,
            "gtid_specified": True,
            "snapshot_version": b"snp",
            "write_set": (b"a", b"bc"),
            "read_set": (b"",),
        },
    ),
    "view change": (
        EventType.VIEW_CHANGE,
        b"17:3".ljust(40, b"\0") + struct.pack("<QI", 5, 1) + b"\x01\0k\x02\0\0\0vv",
        {"view_id": "17:3", "sequence_number": 5, "certification": ((b"k", b"vv"),)},
    ),
    "an uncompressed payload": (
        EventType.TRANSACTION_PAYLOAD,
        b"\x02\x03\xfc\xff\x00" + b"\x01\x01\x04" + b"\x00" + b"abcd",
        {
            "compression": Compression.NONE,
            "uncompressed_size": None,
            "payload_size": 4,
            "payload_offset": 19 + 9,
        },
    ),
}


@pytest.mark.parametrize("case", BODIES)
def test_fields(case: str) -> None:
    event_type, body, expected = BODIES[case]
    event = parsed(event_type, body)
    assert type(event) is EVENTS[event_type]
    own = {field.name: getattr(event, field.name) for field in fields(event)}
    own.pop("header")
    assert own == expected


OF_ANY_LENGTH = {
    "stop",
    "rows query",
    "ignorable",
    "append block",
    "begin load query",
    "heartbeat",
    "heartbeat v2",
    "rotate",
}


@pytest.mark.parametrize("case", sorted(BODIES.keys() - OF_ANY_LENGTH))
def test_a_truncated_event_is_refused(case: str) -> None:
    event_type, body, _ = BODIES[case]
    for end in range(len(body)):
        with pytest.raises(MalformedError) as caught:
            parsed(event_type, body[:end])
        assert caught.value.position == 1234


@pytest.mark.parametrize(
    ("event_type", "body", "reason"),
    [
        (EventType.USER_VAR, struct.pack("<I", 1) + b"v\0\x03", "type 3"),
        (EventType.XA_PREPARE, struct.pack("<BIII", 0, 1, 65, 0) + bytes(65), "longer than 64"),
        (EventType.TRANSACTION_PAYLOAD, b"\x02\x01\x05\x01\x01\x00\x00", "compression type 5"),
        (EventType.TRANSACTION_PAYLOAD, b"\x01\x01\x00\x00", "compression type None"),
        (EventType.TRANSACTION_PAYLOAD, b"\x02\x01\x00\x01\x01\x09\x00abc", "not the announced 9"),
        (EventType.TRANSACTION_CONTEXT, struct.pack("<BIBIII", 0, 8, 1, 0, 2**31, 0), "items"),
        (EventType.VIEW_CHANGE, bytes(40) + struct.pack("<QI", 5, 2**31), "items"),
        (EventType.HEARTBEAT_V2, b"\x02\x01", "expected"),
        (EventType.ROTATE, bytes(8), "next file is missing"),
        (EventType.ROTATE, bytes(7), "expected"),
    ],
)
def test_contradictions_are_refused(event_type: EventType, body: bytes, reason: str) -> None:
    with pytest.raises(MalformedError, match=reason):
        parsed(event_type, body)


def test_every_type_that_a_server_writes_has_a_class() -> None:
    assert set(EVENTS) == set(EventType)
    assert [code for code, kind in EVENTS.items() if kind is UnknownEvent] == [EventType.UNKNOWN]


@pytest.mark.parametrize("event_type", [0, 43, 100, 159, 172, 255])
def test_other_types_are_unknown_and_keep_their_bytes(event_type: int) -> None:
    event = parsed(event_type, b"content")
    assert isinstance(event, UnknownEvent)
    assert event.content == b"content"
    assert event.name in (f"UNKNOWN_{event_type}", *(kind.name for kind in EventType))


def test_header_fields_are_attributes_of_the_event() -> None:
    (event,) = (e for e in events(recorded("plain")) if isinstance(e, StopEvent))
    data = recorded("plain")
    assert event.position == len(data) - 23
    assert event.log_pos == len(data)
    assert (event.type, event.name, event.size) == (EventType.STOP, "STOP", 23)
    assert (event.server_id, event.flags, event.inside_payload) == (1, EventFlag(0), False)


def only(name: str, kind: type[Event]) -> list[Any]:
    return [event for event in events(recorded(name)) if isinstance(event, kind)]


def test_user_variables_of_every_type() -> None:
    found = {event.variable: event for event in only("statements", UserVarEvent)}
    assert (found["text"].value, found["text"].value_type) == ("ü", UserVarType.STRING)
    assert (found["number"].value, found["number"].value_type) == (-5, UserVarType.INTEGER)
    assert (found["real"].value, found["real"].value_type) == (1e10, UserVarType.REAL)
    assert found["decimal"].value_type == UserVarType.DECIMAL
    assert found["decimal"].value == "1.50"
    assert found["nothing"].value is None


def user_var(kind: int, content: bytes, *, collation: int = 63, flags: bytes = b"\0") -> Any:
    head = struct.pack("<I", 1) + b"v\0" + struct.pack("<BII", kind, collation, len(content))
    return parsed(EventType.USER_VAR, head + content + flags)


@pytest.mark.parametrize(
    ("kind", "content", "options", "value"),
    [
        (0, b"\xff\xfe", {}, b"\xff\xfe"),
        (0, b"\xfc", {"collation": 8}, "ü"),
        (0, b"\xfc", {"collation": 60_000}, b"\xfc"),
        (1, struct.pack("<d", -0.5), {}, -0.5),
        (2, b"\xff" * 8, {}, -1),
        (2, b"\xff" * 8, {"flags": b"\x01"}, 2**64 - 1),
        (2, b"\xff" * 8, {"flags": b""}, -1),
        (4, b"\x0e\x04" + bytes.fromhex("810dfb38d204d2"), {}, "1234567890.1234"),
        (4, b"\x0e\x04" + bytes.fromhex("7ef204c72dfb2d"), {}, "-1234567890.1234"),
        (4, b"\x01\x00\x80", {}, "0"),
        (4, b"\x02\x02\x85", {}, "0.05"),
    ],
)
def test_values_of_user_variables(
    kind: int, content: bytes, options: dict[str, Any], value: object
) -> None:
    found = user_var(kind, content, **options).value
    assert (found, type(found)) == (value, type(value))


@pytest.mark.parametrize(
    ("kind", "content", "reason"),
    [
        (1, bytes(7), "8 bytes are expected"),
        (1, bytes(9), "followed by 1 bytes"),
        (2, bytes(7), "8 bytes are expected"),
        (4, b"\x00\x00", r"DECIMAL\(0,0\)"),
        (4, b"\x42\x00", r"DECIMAL\(66,0\)"),
        (4, b"\x02\x03", r"DECIMAL\(2,3\)"),
        (4, b"\x02\x00\xff", "2 decimal digits has the value 127"),
    ],
)
def test_invalid_values_of_user_variables_are_refused(
    kind: int, content: bytes, reason: str
) -> None:
    with pytest.raises(MalformedError, match=reason):
        user_var(kind, content)


def test_xa_transactions_are_prepared_or_committed_in_one_phase() -> None:
    prepared, once = only("statements", XaPrepareEvent)
    assert (prepared.one_phase, prepared.format_id) == (False, 7)
    assert (prepared.global_id, prepared.branch) == (b"global", b"branch")
    assert (once.one_phase, once.global_id, once.branch) == (True, b"once", b"")


def test_payloads_of_a_real_server_have_the_announced_sizes() -> None:
    for event in only("compressed", TransactionPayloadEvent):
        assert event.compression == Compression.ZSTD
        assert event.payload_offset + event.payload_size + 4 == event.size
        assert event.uncompressed_size > event.payload_size


def test_a_transaction_ends_with_its_xid() -> None:
    xids = [event.xid for event in only("plain", XidEvent)]
    assert len(xids) == 3
    assert xids == sorted(set(xids))
