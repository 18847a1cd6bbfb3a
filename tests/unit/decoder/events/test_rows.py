from __future__ import annotations

import struct

import pytest

from decoder import events
from decoder.constants import EventType
from decoder.errors import MalformedError
from decoder.events.rows import RowsEvent, RowsFlag
from tests.support.decoder.event_bytes import described, length_encoded, parsed, recorded

HEAD = struct.pack("<IHH", 122, 0, 1)
NO_EXTRA = struct.pack("<H", 2)


def rows(event_type: EventType, body: bytes) -> RowsEvent:
    event = parsed(event_type, body, described(lengths=lengths()))
    assert isinstance(event, RowsEvent)
    return event


def lengths() -> bytes:
    """Version 1 post-headers of 8 bytes, which 5.x servers write as well as those of version 2."""
    sizes = bytearray(described().post_header_lengths)
    for event_type in (23, 24, 25):
        sizes[event_type - 1] = 8
    return bytes(sizes)


@pytest.mark.parametrize(
    ("event_type", "before", "after"),
    [
        (EventType.WRITE_ROWS, None, b"\x05\x01"),
        (EventType.UPDATE_ROWS, b"\x05\x01", b"\xff\x00"),
        (EventType.PARTIAL_UPDATE_ROWS, b"\x05\x01", b"\xff\x00"),
        (EventType.DELETE_ROWS, b"\x05\x01", None),
        (EventType.WRITE_ROWS_V1, None, b"\x05\x01"),
        (EventType.UPDATE_ROWS_V1, b"\x05\x01", b"\xff\x00"),
        (EventType.DELETE_ROWS_V1, b"\x05\x01", None),
    ],
)
def test_column_bitmaps_of_each_image(
    event_type: EventType, before: bytes | None, after: bytes | None
) -> None:
    extra = b"" if event_type.name.endswith("_V1") else NO_EXTRA
    bitmaps = (before or b"") + (after or b"")
    event = rows(event_type, HEAD + extra + length_encoded(9) + bitmaps + b"images")
    assert (event.table_id, event.rows_flags, event.column_count) == (122, 1, 9)
    assert (event.columns_before, event.columns_after) == (before, after)
    assert event.size - event.rows_offset == len(b"images")


def test_a_server_logs_full_minimal_and_partial_images() -> None:
    found = [e for e in events(recorded("partial_images")) if isinstance(e, RowsEvent)]
    assert [(e.name, e.columns_before, e.columns_after) for e in found] == [
        ("WRITE_ROWS", None, b"\xff"),
        ("UPDATE_ROWS", b"\x01", b"\x04"),
        ("PARTIAL_UPDATE_ROWS", b"\x01", b"\x02"),
        ("DELETE_ROWS", b"\x01", None),
    ]
    flags = RowsFlag.STATEMENT_END | RowsFlag.SQL_FOREIGN_KEYS
    assert {event.rows_flags for event in found} == {flags}


def test_partitions_are_in_the_extra_data() -> None:
    found = [e for e in events(recorded("partitioned")) if isinstance(e, RowsEvent)]
    assert [(e.name, e.partition, e.source_partition) for e in found] == [
        ("WRITE_ROWS", 0, None),
        ("WRITE_ROWS", 1, None),
        ("UPDATE_ROWS", 1, 0),
        ("DELETE_ROWS", 1, None),
    ]


def test_ndbs_extra_data_is_kept_unchanged() -> None:
    extra = struct.pack("<H", 2 + 6) + b"\x00\x05\x00abc"
    event = rows(EventType.WRITE_ROWS, HEAD + extra + b"\x01\xff")
    assert event.ndb == b"\x00abc"
    assert event.partition is None


def test_unknown_extra_data_is_skipped() -> None:
    extra = struct.pack("<H", 2 + 4) + b"\x63abc"
    assert rows(EventType.WRITE_ROWS, HEAD + extra + b"\x01\xff").column_count == 1


@pytest.mark.parametrize(
    ("body", "reason"),
    [
        (HEAD + struct.pack("<H", 1) + b"\x01\xff", "length 1"),
        (HEAD + struct.pack("<H", 99) + b"\x01\xff", "97 bytes are expected"),
        (HEAD + NO_EXTRA + length_encoded(4097) + bytes(600), "column count 4097"),
        (HEAD + NO_EXTRA + length_encoded(9) + b"\xff", "2 bytes are expected"),
        (HEAD + struct.pack("<H", 4) + b"\x01\x00\x01\xff", "2 bytes are expected"),
        (HEAD[:5], "expected"),
    ],
)
def test_contradictions_are_refused(body: bytes, reason: str) -> None:
    with pytest.raises(MalformedError, match=reason):
        rows(EventType.WRITE_ROWS, body)
