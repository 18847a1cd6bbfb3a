"""Framing: complete, incomplete and invalid events."""

from __future__ import annotations

import struct
import zlib
from typing import Any

import numpy as np
import pytest
from hypothesis import given, strategies as st

from decoder.constants import MAGIC, EventType
from decoder.errors import ChecksumError, MalformedError
from decoder.events.layout import Layout
from decoder.framing.frames import Frames, frame
from tests.support.decoder.event_bytes import event_bytes, format_description, recorded

HEAD, SLACK = 16, 64


def framed(content: bytes, **options: Any) -> Frames:
    buffer = np.zeros(HEAD + len(content) + SLACK, np.uint8)
    buffer[HEAD : HEAD + len(content)] = np.frombuffer(content, np.uint8)
    before = buffer.copy()
    options = {"base": -HEAD, "checksum": False, **options}
    frames = frame(buffer, HEAD, HEAD + len(content), **options)
    assert np.array_equal(buffer, before)
    return frames


def event(body: bytes = b"body", **options: Any) -> bytes:
    return event_bytes(EventType.ROWS_QUERY, body, **options)


def test_every_header_field_is_in_its_array() -> None:
    first = event(b"abc", log_pos=777, flags=0x81)
    frames = framed(first + event(b""))
    assert frames.offset.tolist() == [HEAD, HEAD + 22]
    assert frames.type.tolist() == [29, 29]
    assert frames.size.tolist() == [22, 19]
    assert frames.end.tolist() == [HEAD + 22, HEAD + 41]
    assert frames.timestamp.tolist() == [1_700_000_000] * 2
    assert frames.server_id.tolist() == [1, 1]
    assert frames.log_pos.tolist() == [777, 0]
    assert frames.flags.tolist() == [0x81, 0]
    assert frames.valid.tolist() == [1, 1]
    assert (frames.next_offset, frames.fault, frames.stopped) == (HEAD + 41, None, False)


@pytest.mark.parametrize("kept", [0, 1, 18, 19, 22])
def test_an_incomplete_event_is_not_consumed(kept: int) -> None:
    frames = framed(event() + event()[:kept])
    assert len(frames) == 1
    assert (frames.next_offset, frames.fault) == (HEAD + len(event()), None)


def test_an_event_of_4_gib_is_incomplete() -> None:
    frames = framed(event()[:9] + b"\xff\xff\xff\xff" + event()[13:])
    assert (len(frames), frames.next_offset, frames.stopped) == (0, HEAD, False)


@pytest.mark.parametrize("size", [0, 18])
def test_a_size_below_a_header_stops(size: int) -> None:
    frames = framed(event() + event()[:9] + struct.pack("<I", size) + event()[13:])
    assert len(frames) == 1
    assert frames.stopped
    assert isinstance(frames.fault, MalformedError)
    assert frames.fault.position == len(event())


def test_a_size_without_room_for_the_checksum_stops() -> None:
    frames = framed(event_bytes(29, b"abc"), checksum=True)
    assert (len(frames), frames.stopped) == (0, True)


def test_framing_continues_after_a_wrong_checksum() -> None:
    good = event(checksum=True)
    wrong = good[:20] + b"X" + good[21:]
    frames = framed(good + wrong + good, checksum=True)
    assert frames.valid.tolist() == [1, 0, 1]
    assert frames.end.tolist() == [HEAD + 23 + 27 * k for k in range(3)]
    assert isinstance(frames.fault, ChecksumError)
    assert frames.fault.position == 27
    assert not frames.stopped
    assert framed(good + wrong, checksum=True, verify=False).fault is None


def test_a_wrong_checksum_not_followed_by_an_event_stops() -> None:
    good = event(checksum=True)
    longer = good[:9] + struct.pack("<I", 30) + good[13:]
    frames = framed(longer + good * 2, checksum=True)
    assert (len(frames), frames.stopped, frames.next_offset) == (0, True, HEAD)


@pytest.mark.parametrize(
    ("version", "algorithm", "checksums"),
    [
        ("9.7.0", 1, True),
        ("9.7.0", 0, False),
        ("5.6.1-m5-log", 1, True),
        ("5.6.1", 255, False),
        ("10.11.6-MariaDB-log", 1, True),
        ("5.5.5-10.4.1-MariaDB", 1, True),
        ("5.3.0-MariaDB", 1, True),
        ("5.6.0", None, False),
        ("5.5.62", None, False),
        ("5.2.10-MariaDB", None, False),
    ],
)
def test_the_format_description_determines_checksums(
    version: str, algorithm: int | None, checksums: bool
) -> None:
    follower = event(checksum=checksums)
    frames = framed(format_description(version, algorithm) + follower)
    assert (frames.checksum, frames.fault) == (checksums, None)
    assert frames.end[1] == frames.offset[1] + 23


def test_the_format_descriptions_checksum_excludes_the_in_use_flag() -> None:
    assert framed(format_description(in_use=True)).fault is None
    damaged = bytearray(format_description(in_use=True))
    damaged[30] ^= 1
    assert isinstance(framed(bytes(damaged)).fault, ChecksumError)
    other = bytearray(format_description(in_use=True))
    other[17] ^= 2
    assert isinstance(framed(bytes(other)).fault, ChecksumError)


def test_a_relay_log_may_enable_and_disable_checksums() -> None:
    content = b"".join(
        [
            format_description(algorithm=1),
            event(checksum=True),
            format_description(algorithm=0),
            event(),
            format_description(algorithm=1),
            event(checksum=True),
        ]
    )
    frames = framed(content)
    assert frames.valid.tolist() == [1] * 6
    assert frames.next_offset == HEAD + len(content)


@pytest.mark.parametrize(
    ("version", "types"),
    [("5.2.2-a_drop6p13-log", [15, 19, 22, 16, 18, 23]), ("5.1.50", [15, 16, 19, 20, 22, 23])],
)
def test_types_of_trees_of_2006_are_renumbered(version: str, types: list[int]) -> None:
    lengths = bytes(15) + bytes([6, 7, 8, 9, 10, 11, 12])
    follower = [event_bytes(code, b"body") for code in (16, 19, 20, 22, 23)]
    frames = framed(format_description(version, None, lengths) + b"".join(follower))
    assert frames.type.tolist() == types
    assert frames.post_header.tolist()[1:3] == [6, 9]
    assert framed(follower[0], layout=frames.layout).type.tolist() == types[1:2]


def test_post_header_lengths_are_those_of_the_last_description() -> None:
    short = bytes([56, 11]) + bytes(16) + b"\x06"
    frames = framed(
        event_bytes(2, b"")
        + format_description("5.1.3", None, short)
        + event_bytes(2, b"")
        + event_bytes(19, b"")
        + format_description()
        + event_bytes(2, b"")
    )
    assert frames.post_header.tolist() == [13, 0, 11, 6, 99, 13]


def test_a_description_replaces_the_lengths_of_types_it_does_not_list() -> None:
    more, fewer = bytes([56, 11]) + bytes(16) + b"\x06" * 7, bytes([56, 13]) + bytes(16)
    followers = [event_bytes(code, b"") for code in (2, 19, 23)]
    first = [format_description("5.1.3", None, more), *followers]
    second = [format_description("5.1.50", None, fewer), *followers]
    assert framed(b"".join(first)).post_header.tolist()[1:] == [11, 6, 6]
    assert framed(b"".join(first + second)).post_header.tolist()[5:] == [13, 0, 0]


def test_a_description_without_types_is_ignored() -> None:
    events = [format_description(), format_description("5.1.50", None, b""), event_bytes(2, b"")]
    assert framed(b"".join(events)).post_header.tolist()[2] == 13


def test_a_damaged_description_is_ignored() -> None:
    damaged = bytearray(format_description())
    damaged[19 + 57 + 1] = 11
    frames = framed(bytes(damaged) + event_bytes(2, b""))
    assert frames.valid.tolist() == [0, 1]
    assert frames.post_header.tolist()[1] == 13


@given(split=st.integers(4, len(recorded("plain"))))
def test_framing_in_windows_equals_framing_the_whole(split: int) -> None:
    content = recorded("plain")[len(MAGIC) :]
    whole = framed(content)
    first = framed(content[:split])
    at = first.next_offset - HEAD
    second = framed(content[at:], checksum=first.checksum, layout=first.layout)
    sizes = first.size.tolist() + second.size.tolist()
    assert sizes == whole.size.tolist()
    assert sum(sizes) == len(content)


@given(content=st.binary(max_size=200), checksum=st.booleans(), version=st.sampled_from([1, 3, 4]))
def test_any_bytes_are_framed_or_refused(content: bytes, checksum: bool, version: int) -> None:
    frames = framed(content, checksum=checksum, layout=Layout.of_version(version))
    assert HEAD <= frames.next_offset <= HEAD + len(content)
    assert frames.stopped <= (frames.fault is not None)
    assert sum(frames.size.tolist()) == frames.next_offset - HEAD


def test_checksums_are_those_of_zlib() -> None:
    content = event(b"x" * 500, checksum=True)
    assert struct.unpack("<I", content[-4:])[0] == zlib.crc32(content[:-4])
    assert framed(content, checksum=True).fault is None
