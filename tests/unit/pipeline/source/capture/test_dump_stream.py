from __future__ import annotations

import struct
from contextlib import suppress

import pytest
from hypothesis import given, settings, strategies as st

from decoder.constants import EventFlag, EventType
from decoder.segments.log_windows import FLAGS_POSITION
from pipeline.source.capture.dump_items import FileNamed, Heartbeat, LogBytes, LogEnded
from pipeline.source.capture.dump_stream import LIMIT, DumpStream
from pipeline.source.capture.errors import BrokenDumpError, DumpRefusedError
from tests.support.decoder.dumped import (
    ASKING,
    OK,
    OK_SEMI_SYNC,
    bytes_of,
    description,
    packets,
    placed,
    rotate,
    taken,
)
from tests.support.decoder.event_bytes import MAGIC, event_bytes, recorded

FILE = "binlog.000007"
QUERY, XID = EventType.QUERY, EventType.XID


def begun(*, checksum: bool = False) -> tuple[list[bytes], bytes]:
    """Return the payloads that start a file, and its bytes so far."""
    first = description(checksum=checksum)
    flagged = bytearray(MAGIC + first)
    flagged[FLAGS_POSITION] |= EventFlag.BINLOG_IN_USE
    return [OK + rotate(FILE), OK + first], bytes(flagged)


def events_in(log: bytes) -> list[bytes]:
    """Return a file's events, FORMAT_DESCRIPTION with a cleared in-use flag, as it is sent."""
    events, at = [], 4
    while at < len(log):
        size = int.from_bytes(log[at + 9 : at + 13], "little")
        events.append(log[at : at + size])
        at += size
    first = bytearray(events[0])
    first[17] &= 0xFE
    return [bytes(first), *events[1:]]


def in_use(log: bytes) -> bytes:
    flagged = bytearray(log)
    flagged[FLAGS_POSITION] |= EventFlag.BINLOG_IN_USE
    return bytes(flagged)


@pytest.mark.parametrize("step", [1, 7, 1000, 1 << 20])
@pytest.mark.parametrize("name", ["plain", "compressed", "no_checksum", "tagged"])
def test_the_dump_of_a_recorded_log_yields_that_log(name: str, step: int) -> None:
    log = recorded(name)[:20_000] if step == 1 else recorded(name)
    events = [event for event in events_in(log) if len(event) >= 19]
    whole = events if len(events[-1]) == int.from_bytes(events[-1][9:13], "little") else events[:-1]
    sent = packets([OK + rotate(FILE), *(OK + event for event in whole)])
    items = taken(DumpStream(), sent, step)
    assert bytes_of(items) == in_use(MAGIC + b"".join(whole))
    last = [item for item in items if isinstance(item, LogBytes)][-1]
    assert last.whole == last.end == 4 + sum(map(len, whole))


def test_events_that_are_in_no_file_are_dropped() -> None:
    payloads, log = begun()
    events = placed([(QUERY, b"one"), (XID, b"12345678")], start=len(log))
    heartbeat = event_bytes(EventType.HEARTBEAT, FILE.encode(), log_pos=len(log))
    artificial = event_bytes(
        EventType.MARIADB_GTID_LIST, b"x", log_pos=5, flags=EventFlag.ARTIFICIAL
    )
    sent = packets([*payloads, OK + heartbeat, OK + events[0], OK + artificial, OK + events[1]])
    items = taken(DumpStream(), sent, 100)
    assert items[0] == FileNamed(FILE, 4)
    assert sum(isinstance(item, Heartbeat) for item in items) == 1
    assert bytes_of(items) == log + b"".join(events)


@pytest.mark.parametrize("zeroed", [True, False], ids=["COM_BINLOG_DUMP", "COM_BINLOG_DUMP_GTID"])
def test_the_description_of_a_later_start_is_not_landed(zeroed: bool) -> None:
    sent_description = bytearray(description())
    if zeroed:
        sent_description[13:17] = bytes(4)
    (event,) = placed([(QUERY, b"later")], start=1000)
    sent = packets([OK + rotate(FILE, 1000), OK + bytes(sent_description), OK + event])
    items = taken(DumpStream(), sent, 1 << 16)
    (landed,) = (item for item in items if isinstance(item, LogBytes))
    assert (landed.position, bytes(landed.data)) == (1000, event)


@pytest.mark.parametrize("size", [1 << 20, (1 << 24) - 24, (1 << 24) - 20, (1 << 24) + 5])
@pytest.mark.parametrize("checksum", [False, True])
def test_an_event_of_several_packets_is_passed_on_in_pieces(size: int, checksum: bool) -> None:
    payloads, log = begun(checksum=checksum)
    events = placed([(QUERY, b"x" * size), (XID, b"12345678")], start=len(log), checksum=checksum)
    sent = packets([*payloads, *(OK + event for event in events)])
    items = taken(DumpStream(), sent, 1 << 20)
    assert bytes_of(items) == log + b"".join(events)
    assert max(len(item.data) for item in items if isinstance(item, LogBytes)) <= 4 << 20
    assert sum(item.events for item in items if isinstance(item, LogBytes)) == 3


@settings(max_examples=30)
@given(
    st.lists(st.tuples(st.sampled_from([0, 10, 3000, LIMIT]), st.booleans()), max_size=6),
    st.sampled_from([1 << 14, 1 << 22]),
    st.booleans(),
)
def test_events_that_request_an_acknowledgement_are_landed_like_others(
    events: list[tuple[int, bool]], step: int, first_asks: bool
) -> None:
    start = 4 + len(description())
    made = placed([(QUERY, bytes(size)) for size, _ in events], start=start)
    asking = [ASKING if asks else OK_SEMI_SYNC for _, asks in events]
    begins = [OK_SEMI_SYNC + rotate(FILE), (ASKING if first_asks else OK_SEMI_SYNC) + description()]
    sent = packets([*begins, *(prefix + event for prefix, event in zip(asking, made, strict=True))])
    items = taken(DumpStream(), sent, step)
    assert bytes_of(items)[start:] == b"".join(made)
    asked = [item for item in items if isinstance(item, LogBytes) and item.asked]
    assert bool(asked) == (first_asks or any(asks for _, asks in events))


def test_an_event_without_a_position_is_certain_once_one_with_a_position_follows() -> None:
    payloads, log = begun()
    vague = event_bytes(EventType.MARIADB_ANNOTATE_ROWS, b"INSERT")
    (sure,) = placed([(XID, b"12345678")], start=len(log) + len(vague))
    stream = DumpStream()
    taken(stream, packets(payloads), 1000)
    (first,) = taken(stream, packets([OK + vague], 3), 1000)
    (second,) = taken(stream, packets([OK + sure], 4), 1000)
    assert isinstance(first, LogBytes)
    assert isinstance(second, LogBytes)
    assert first.whole is None
    assert second.whole == second.end


def test_a_missing_event_is_refused() -> None:
    payloads, log = begun()
    events = placed([(QUERY, b"one"), (QUERY, b"two"), (QUERY, b"three")], start=len(log))
    stream = DumpStream()
    with pytest.raises(BrokenDumpError, match="the event at position") as broken:
        taken(stream, packets([*payloads, OK + events[0], OK + events[2]]), 1 << 16)
    assert broken.value.position == len(log) + len(events[0])
    assert broken.value.retryable


@pytest.mark.parametrize("size", [10, 2 << 20])
def test_an_event_damaged_in_transit_is_refused(size: int) -> None:
    payloads, log = begun(checksum=True)
    (event,) = placed([(QUERY, b"x" * size)], start=len(log), checksum=True)
    damaged = event[:25] + b"y" + event[26:]
    with pytest.raises(BrokenDumpError, match="checksum"):
        taken(DumpStream(), packets([*payloads, OK + damaged]), 1 << 16)


def test_positions_wrap_at_4_gib() -> None:
    start = (1 << 32) - 22
    sent_description = bytearray(description())
    sent_description[13:17] = bytes(4)
    events = placed([(QUERY, b"one"), (QUERY, b"two"), (QUERY, b"three")], start=start)
    assert struct.unpack("<I", events[0][13:17]) == (0,)
    sent = packets(
        [OK + rotate(FILE, start), OK + bytes(sent_description), *(OK + e for e in events)]
    )
    items = [item for item in taken(DumpStream(), sent, 100) if isinstance(item, LogBytes)]
    assert b"".join(bytes(item.data) for item in items) == b"".join(events)
    assert items[-1].end == items[-1].whole == start + sum(map(len, events))


@pytest.mark.parametrize(("code", "retryable"), [(1236, False), (1053, True)])
def test_the_servers_errors_are_raised(code: int, retryable: bool) -> None:
    packet = b"\xff" + struct.pack("<H", code) + b"#HY000Could not find first log file name"
    with pytest.raises(DumpRefusedError, match="Could not find first log file name") as refused:
        taken(DumpStream(), packets([packet]), 10)
    assert (refused.value.code, refused.value.retryable) == (code, retryable)


def test_the_end_of_a_non_blocking_dump_is_an_item() -> None:
    assert taken(DumpStream(), packets([b"\xfe\0\0\2\0"]), 3) == [LogEnded()]


@pytest.mark.parametrize(
    "payloads",
    [
        [OK + event_bytes(QUERY, b"x", log_pos=1)],
        [OK + rotate(FILE), b"\x07what"],
        [OK + rotate(FILE), OK + event_bytes(QUERY, b"x" * (2 << 20), log_pos=77)],
        [OK + rotate(FILE), OK + event_bytes(EventType.FORMAT_DESCRIPTION, b"x" * 90, log_pos=8)],
    ],
    ids=["no file", "no event", "a large one of another position", "no description"],
)
def test_an_invalid_dump_is_refused(payloads: list[bytes]) -> None:
    with pytest.raises(BrokenDumpError):
        taken(DumpStream(), packets(payloads), 1 << 16)


@given(st.data())
def test_damaged_dumps_are_either_refused_or_read(data: st.DataObject) -> None:
    payloads, log = begun(checksum=data.draw(st.booleans()))
    events = placed([(QUERY, b"one"), (XID, b"12345678")], start=len(log))
    sent = bytearray(packets([*payloads, *(OK + event for event in events)]))
    for _ in range(data.draw(st.integers(1, 4))):
        at = data.draw(st.integers(0, len(sent) - 1))
        sent[at] = data.draw(st.integers(0, 255))
    step = data.draw(st.integers(1, 300))
    with suppress(BrokenDumpError, DumpRefusedError):
        taken(DumpStream(capacity=1 << 12, limit=1 << 8), bytes(sent), step)


@given(st.binary(max_size=600), st.integers(1, 100))
def test_any_bytes_are_either_refused_or_read(noise: bytes, step: int) -> None:
    payloads, _ = begun()
    with suppress(BrokenDumpError, DumpRefusedError):
        taken(DumpStream(capacity=1 << 12, limit=1 << 8), packets(payloads) + noise, step)
