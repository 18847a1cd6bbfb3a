from __future__ import annotations

import mmap
import subprocess
import sys
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
import zstandard

import decoder
from decoder import BinlogError
from decoder.constants import EventType
from decoder.errors import (
    ChecksumError,
    MalformedError,
    NotABinlogError,
    TruncatedError,
    UnsupportedError,
)
from decoder.events.query import QueryEvent
from decoder.events.transaction_payload import TransactionPayloadEvent
from decoder.events.unknown import UnknownEvent
from tests.support.decoder.event_bytes import (
    DATA,
    event_bytes,
    format_description,
    length_encoded,
    log_bytes,
    recorded,
)

PLAIN = [
    "FORMAT_DESCRIPTION",
    "PREVIOUS_GTIDS",
    *("GTID", "QUERY"),
    *("GTID", "QUERY", "TABLE_MAP", "WRITE_ROWS", "XID"),
    *("GTID", "QUERY", "TABLE_MAP", "UPDATE_ROWS", "XID"),
    *("GTID", "QUERY", "TABLE_MAP", "DELETE_ROWS", "XID"),
    "STOP",
]
BEGIN = bytes(8) + b"\x00\x00\x00\x00\x00" + b"\x00BEGIN"


def names(data: Any) -> list[str]:
    return [event.name for event in decoder.events(data)]


def map_memory(data: bytes) -> mmap.mmap:
    memory = mmap.mmap(-1, len(data))
    memory.write(data)
    return memory


@pytest.mark.parametrize(
    "form",
    [bytes, bytearray, memoryview, lambda d: np.frombuffer(d, np.uint8), pa.py_buffer, map_memory],
)
def test_any_buffer_is_read(form: Callable[[bytes], Any]) -> None:
    assert names(form(recorded("plain"))) == PLAIN


@pytest.mark.parametrize("name", ["plain", "no_checksum", "no_gtid"])
def test_event_types_of_recorded_logs(name: str) -> None:
    anonymous = name == "no_gtid"
    expected = ["ANONYMOUS_GTID" if anonymous and n == "GTID" else n for n in PLAIN]
    assert names(recorded(name)) == expected


@pytest.mark.parametrize("path", sorted(DATA.glob("*.binlog")), ids=lambda path: path.stem)
def test_events_are_consecutive_to_the_end(path: Path) -> None:
    data = path.read_bytes()
    position = 4
    for event in decoder.events(data):
        if event.inside_payload:
            continue
        assert event.position == position
        position += event.size
        assert event.log_pos == position
    assert position == len(data)


def test_a_segment_begins_with_its_format_description() -> None:
    assert names(recorded("plain")[4:]) == PLAIN


def test_a_log_may_end_after_any_event_or_be_empty() -> None:
    data = recorded("plain")
    ends = [event.position for event in decoder.events(data)]
    assert [len(names(data[:end])) for end in ends] == list(range(len(PLAIN)))


def test_events_inside_a_payload_follow_it() -> None:
    log = list(decoder.events(recorded("compressed")))
    payload = next(event for event in log if isinstance(event, TransactionPayloadEvent))
    inside = [event for event in log if event.inside_payload and event.position == payload.position]
    assert [event.name for event in inside] == [
        "QUERY",
        *("TABLE_MAP", "WRITE_ROWS", "TABLE_MAP", "UPDATE_ROWS", "TABLE_MAP", "DELETE_ROWS"),
        "XID",
    ]
    assert sum(event.size for event in inside) == payload.uncompressed_size
    offset = 0
    for event in inside:
        assert event.header.payload_offset == offset
        offset += event.size


def test_the_in_use_flag_is_not_part_of_the_checksum() -> None:
    log = log_bytes(
        event_bytes(EventType.STOP, b"", checksum=True),
        description=format_description(algorithm=1, in_use=True),
    )
    assert names(log) == ["FORMAT_DESCRIPTION", "STOP"]


def test_a_relay_log_has_several_descriptions() -> None:
    relay = log_bytes(
        event_bytes(EventType.STOP, b"", checksum=True),
        format_description(algorithm=0),
        event_bytes(EventType.XID, bytes(8)),
        format_description("5.5.62", None),
        event_bytes(EventType.XID, bytes(8)),
        description=format_description(algorithm=1),
    )
    kinds = ["FORMAT_DESCRIPTION", "STOP", "FORMAT_DESCRIPTION", "XID", "FORMAT_DESCRIPTION", "XID"]
    assert names(relay) == kinds


def test_an_event_larger_than_a_window_is_read_whole() -> None:
    text = b"x" * 3_000_000
    log = log_bytes(
        event_bytes(EventType.QUERY, BEGIN), event_bytes(EventType.QUERY, BEGIN[:-5] + text)
    )
    *_, event = decoder.events(log + event_bytes(EventType.STOP, b"")[:0])
    assert isinstance(event, QueryEvent)
    assert len(event.query) == len(text)


def test_events_of_unknown_types_are_yielded() -> None:
    event = list(decoder.events(log_bytes(event_bytes(100, b"vendor's", flags=0x80))))[-1]
    assert isinstance(event, UnknownEvent)
    assert (event.type, event.name, event.content) == (100, "UNKNOWN_100", b"vendor's")


def compressed(content: bytes, **header: Any) -> bytes:
    """Return a TRANSACTION_PAYLOAD of the content; `header` overrides its fields."""
    payload = header.get("payload", zstandard.ZstdCompressor().compress(content))
    fields = b"".join(
        bytes([code, len(length_encoded(value))]) + length_encoded(value)
        for code, value in (
            (2, header.get("compression", 0)),
            (3, header.get("uncompressed", len(content))),
            (1, header.get("size", len(payload))),
        )
    )
    return event_bytes(EventType.TRANSACTION_PAYLOAD, fields + b"\0" + payload)


INSIDE = event_bytes(EventType.QUERY, BEGIN) + event_bytes(EventType.XID, bytes(8))


def test_payloads_in_several_frames_and_uncompressed_ones() -> None:
    frames = b"".join(
        zstandard.ZstdCompressor().compress(part) for part in (INSIDE[:9], INSIDE[9:])
    )
    for event in (
        compressed(INSIDE, payload=frames),
        compressed(INSIDE, payload=INSIDE, compression=255),
    ):
        assert names(log_bytes(event))[1:] == ["TRANSACTION_PAYLOAD", "QUERY", "XID"]


@pytest.mark.parametrize(
    ("event", "reason"),
    [
        (compressed(INSIDE, uncompressed=len(INSIDE) + 1), "not the announced"),
        (compressed(INSIDE, uncompressed=len(INSIDE) - 1), "more than the announced 64 bytes"),
        (compressed(INSIDE, uncompressed=0), "more than the announced 0 of the payload"),
        (compressed(INSIDE[:-1]), "ends inside the event at offset 38"),
        (compressed(INSIDE + b"rest"), "the last 4 bytes of its content"),
        (compressed(INSIDE, payload=b"not zstd"), "cannot be decompressed"),
        (
            compressed(INSIDE, payload=zstandard.compress(INSIDE)[:-3]),
            "not the announced|ends inside|too few for an event",
        ),
        (compressed(compressed(INSIDE)), "type TRANSACTION_PAYLOAD"),
        (compressed(format_description()), "type FORMAT_DESCRIPTION"),
        (compressed(event_bytes(EventType.XID, bytes(7))), "8 bytes are expected"),
        (compressed(INSIDE[:9] + b"\x05\0\0\0" + INSIDE[13:]), "smaller than an event header"),
    ],
)
def test_a_malformed_payload_is_refused(event: bytes, reason: str) -> None:
    with pytest.raises(MalformedError, match=reason) as caught:
        names(log_bytes(event))
    assert caught.value.position == 4 + len(format_description())


@pytest.mark.parametrize(
    ("size", "announced", "reason"),
    [
        (0xFFFFFFFF, len(INSIDE), f"more than the announced {len(INSIDE)} of the payload"),
        (0xFFFFFFFF, 1 << 40, "the limit is 1073741824"),
        (1 << 30, 1 << 40, "ends inside the event at offset 0"),
    ],
)
def test_no_memory_is_allocated_for_an_inner_events_announced_size(
    size: int, announced: int, reason: str
) -> None:
    content = INSIDE[:9] + size.to_bytes(4, "little") + INSIDE[13:]
    with pytest.raises(MalformedError, match=reason):
        names(log_bytes(compressed(content, uncompressed=announced)))


ZOO = recorded("plain")


@pytest.mark.parametrize(
    ("data", "error", "position", "reason"),
    [
        (b"", NotABinlogError, 0, "empty"),
        (b"\xfe", NotABinlogError, 0, "starts with fe,"),
        (b"-- MySQL dump 10.13", NotABinlogError, 0, "starts with 2d 2d 20 4d"),
        (b"\xfdbin" + bytes(508), UnsupportedError, 4, "encrypted with header version 0"),
        (ZOO[:14], TruncatedError, 4, "10 bytes are left"),
        (ZOO[:-1], TruncatedError, len(ZOO) - 23, "after 22 of the event's 23 bytes"),
        (ZOO + bytes(19), MalformedError, len(ZOO), "0 bytes"),
        (ZOO[:-1] + b"\0", ChecksumError, len(ZOO) - 23, "checksum"),
        (b"\xfebin" + event_bytes(EventType.XID, bytes(8)), MalformedError, 4, "start with FORMAT"),
        (b"\xfebin" + event_bytes(EventType.START_V3, bytes(56)), UnsupportedError, 4, "version 0"),
    ],
)
def test_invalid_and_damaged_logs_are_refused(
    data: bytes, error: type[BinlogError], position: int, reason: str
) -> None:
    with pytest.raises(error, match=reason) as caught:
        list(decoder.events(data, file="binlog.000001"))
    assert caught.value.position == position
    assert str(caught.value).startswith(f"binlog.000001, position {position}")


def until_fault(data: bytes) -> tuple[list[str], BinlogError | None]:
    given: list[str] = []
    try:
        given.extend(event.name for event in decoder.events(data))
    except BinlogError as error:
        return given, error
    return given, None


def test_events_before_an_error_are_yielded() -> None:
    data = bytearray(recorded("plain"))
    xid = [event.position for event in decoder.events(bytes(data))][-2]
    data[xid + 20] ^= 1
    given, error = until_fault(bytes(data))
    assert given == PLAIN[:-2]
    assert isinstance(error, ChecksumError)
    assert (error.position, error.event_type) == (xid, "XID")


def test_checksums_are_those_of_zlib() -> None:
    data = recorded("plain")
    for event in decoder.events(data):
        whole = data[event.position : event.position + event.size]
        assert zlib.crc32(whole[:-4]) == int.from_bytes(whole[-4:], "little")


def test_the_function_and_the_package_have_the_same_name() -> None:
    program = """
import decoder
assert callable(decoder.events)
from decoder.events.registry import EVENTS
import decoder.events.rows
data = open(__import__("sys").argv[1], "rb").read()
print(len(list(decoder.events(data))), decoder.events.rows.__name__)
"""
    done = subprocess.run(
        [sys.executable, "-c", program, str(DATA / "plain.binlog")],
        capture_output=True,
        text=True,
        check=True,
        cwd=DATA.parent.parent,
    )
    assert done.stdout.split() == [str(len(PLAIN)), "decoder.events.rows"]
