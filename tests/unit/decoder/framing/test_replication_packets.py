from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, strategies as st

from decoder.constants import EventFlag, EventType
from decoder.framing.replication_packets import (
    PACKET_SLACK,
    SEMI_SYNC_MAGIC,
    StopReason,
    Unpacked,
    unpack,
)
from decoder.kernels.crc32 import HEAD
from tests.support.decoder.dumped import ASKING, OK, packets
from tests.support.decoder.event_bytes import event_bytes

QUERY = EventType.QUERY


def unpacked(data: bytes, *, first: int = 1, limit: int = 1 << 20) -> Unpacked:
    buffer = np.zeros(len(data) + PACKET_SLACK, np.uint8)
    buffer[: len(data)] = np.frombuffer(data, np.uint8)
    return unpack(buffer, 0, len(data), first, limit)


def events_of(found: Unpacked) -> bytes:
    return found.buffer[HEAD : found.end].tobytes()


@given(
    st.lists(st.binary(max_size=300), max_size=30),
    st.integers(0, 255),
    st.sampled_from([OK, bytes([0, SEMI_SYNC_MAGIC, 0]), ASKING]),
    st.integers(0, 400),
)
def test_events_of_complete_packets_are_unpacked(
    bodies: list[bytes], first: int, prefix: bytes, missing: int
) -> None:
    events = [event_bytes(QUERY, body, log_pos=1) for body in bodies]
    data = packets([prefix + event for event in events], first)
    found = unpacked(data[: max(0, len(data) - missing)], first=first)

    whole, at = 0, 0
    while whole < len(events) and at + 4 + len(prefix + events[whole]) <= len(data) - missing:
        at += 4 + len(prefix + events[whole])
        whole += 1
    assert events_of(found) == b"".join(events[:whole])
    assert found.next_packet == at
    asked = whole > 0 and prefix == ASKING
    assert found.sequence == (1 if asked else (first + whole) % 256)
    assert found.stop == StopReason.NEEDS_MORE
    assert found.asked == asked


def test_an_event_that_starts_with_0xef_is_not_taken_for_a_semi_sync_header() -> None:
    event = bytearray(event_bytes(QUERY, b"body", log_pos=1))
    event[0] = SEMI_SYNC_MAGIC
    found = unpacked(packets([OK + bytes(event)]))
    assert events_of(found) == bytes(event)
    assert not found.asked


@pytest.mark.parametrize(
    ("payload", "stop"),
    [
        (OK + event_bytes(EventType.FORMAT_DESCRIPTION, b"x", log_pos=1), StopReason.OTHER),
        (OK + event_bytes(EventType.HEARTBEAT, b"x", log_pos=1), StopReason.OTHER),
        (OK + event_bytes(EventType.HEARTBEAT_V2, b"x", log_pos=1), StopReason.OTHER),
        (OK + event_bytes(EventType.ROTATE, b"x" * 9, log_pos=0), StopReason.OTHER),
        (OK + event_bytes(QUERY, b"x", log_pos=1, flags=EventFlag.ARTIFICIAL), StopReason.OTHER),
        (b"\xff\x15\x04#28000no", StopReason.OTHER),
        (b"\xfe\0\0\2\0", StopReason.OTHER),
        (b"", StopReason.OTHER),
        (OK + event_bytes(QUERY, b"x", log_pos=1)[:-1], StopReason.OTHER),
        (OK + event_bytes(QUERY, bytes(2000), log_pos=1), StopReason.LARGE),
    ],
)
def test_unpacking_stops_before_other_packets(payload: bytes, stop: StopReason) -> None:
    common = event_bytes(QUERY, b"common", log_pos=1)
    found = unpacked(packets([OK + common, payload, OK + common]), limit=2000)
    assert events_of(found) == common
    assert (found.stop, found.sequence) == (stop, 2)


def test_unpacking_stops_at_a_packet_out_of_order() -> None:
    event = OK + event_bytes(QUERY, b"", log_pos=1)
    found = unpacked(packets([event], 1) + packets([event], 3))
    assert found.stop == StopReason.OUT_OF_ORDER


@given(st.binary(max_size=400))
def test_any_bytes_are_unpacked_or_stop_unpacking(data: bytes) -> None:
    found = unpacked(data)
    assert 0 <= found.next_packet <= len(data)
    assert len(events_of(found)) <= found.next_packet
