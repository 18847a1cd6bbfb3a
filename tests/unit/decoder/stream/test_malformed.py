"""Damage at every position of small real logs: a log is read, or refused with a BinlogError."""

from __future__ import annotations

import pytest

import decoder
from decoder import BinlogError
from decoder.errors import TruncatedError
from tests.support.decoder.event_bytes import recorded, without_checksums
from tests.support.decoder.mutations import NAMES, READERS, is_refused

IN_USE_FLAG = (4 + 17) * 8
"""The bit of FORMAT_DESCRIPTION that a server clears without updating the checksum."""


@pytest.mark.parametrize("reader", ["events", "rows"])
@pytest.mark.parametrize("name", ["plain", "no_checksum", "compressed"])
def test_a_log_truncated_inside_an_event_is_refused(reader: str, name: str) -> None:
    data = recorded(name)
    between = {event.position for event in decoder.events(data)} | {len(data)}
    near = {end + step for end in between for step in (-1, 0, 1) if end + step < len(data)}
    for end in near.union(range(0, len(data), 1 if reader == "events" else 7)):
        assert is_refused(READERS[reader], data[:end]) == (end not in between), end


def test_the_error_of_a_truncated_log_has_the_position_of_the_event() -> None:
    data = recorded("plain")
    last = [event.position for event in decoder.events(data)][-1]
    for end in range(last + 1, len(data)):
        with pytest.raises(TruncatedError) as caught:
            list(decoder.events(data[:end]))
        assert caught.value.position == last


@pytest.mark.parametrize("reader", READERS)
def test_flipped_bits_are_detected_with_checksums(reader: str) -> None:
    data = recorded("plain")
    step = 5 if reader == "events" else 31
    for bit in (IN_USE_FLAG, *range(32, len(data) * 8, step)):
        damaged = bytearray(data)
        damaged[bit // 8] ^= 1 << bit % 8
        assert is_refused(READERS[reader], bytes(damaged)) == (bit != IN_USE_FLAG), bit


@pytest.mark.parametrize("reader", READERS)
@pytest.mark.parametrize("name", NAMES)
def test_flipped_bits_without_checksums_are_read_or_refused(reader: str, name: str) -> None:
    data = without_checksums(recorded(name))
    refused = sum(
        is_refused(READERS[reader], flipped(data, bit))
        for bit in range(32, len(data) * 8, 127 if len(data) > 3000 else 61)
    )
    assert refused


def flipped(data: bytes, bit: int) -> bytes:
    damaged = bytearray(data)
    damaged[bit // 8] ^= 1 << bit % 8
    return bytes(damaged)


@pytest.mark.parametrize("name", NAMES)
def test_logs_without_their_checksums_have_the_same_events(name: str) -> None:
    with_checksums = [event.name for event in decoder.events(recorded(name))]
    assert [e.name for e in decoder.events(without_checksums(recorded(name)))] == with_checksums


@pytest.mark.parametrize("byte", range(256))
def test_every_event_type_in_a_header_is_read_or_refused(byte: int) -> None:
    data = without_checksums(recorded("plain"))
    query = next(e.position for e in decoder.events(data) if e.name == "QUERY")
    damaged = data[: query + 4] + bytes([byte]) + data[query + 5 :]
    if is_refused(READERS["events"], damaged):
        with pytest.raises(BinlogError) as caught:
            list(decoder.events(damaged))
        assert query <= (caught.value.position or 0) < len(data)
    else:
        assert byte in [event.type for event in decoder.events(damaged)]
