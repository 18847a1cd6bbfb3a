from __future__ import annotations

import pytest

from decoder import BinlogError
from decoder.constants import ChecksumAlgorithm, EventType
from decoder.errors import MalformedError, UnsupportedError
from decoder.events.cursor import Cursor
from decoder.events.format_description import FormatDescriptionEvent
from decoder.events.header import EventHeader
from tests.support.decoder.event_bytes import described, format_description, recorded


def read(event: bytes) -> FormatDescriptionEvent:
    view = memoryview(event)
    return FormatDescriptionEvent.parse(Cursor(view[19:], EventHeader.parse(view, 0, 4)))


@pytest.mark.parametrize(
    ("version", "algorithm", "expected", "length"),
    [
        ("9.7.4-2", 1, ChecksumAlgorithm.CRC32, 4),
        ("8.0.40", 0, ChecksumAlgorithm.OFF, 0),
        ("5.6.1", 1, ChecksumAlgorithm.CRC32, 4),
        ("5.6.0-m4", None, ChecksumAlgorithm.UNDEFINED, 0),
        ("5.1.73-log", None, ChecksumAlgorithm.UNDEFINED, 0),
        ("5.5.40-MariaDB-log", 1, ChecksumAlgorithm.CRC32, 4),
        ("5.2.14-MariaDB", None, ChecksumAlgorithm.UNDEFINED, 0),
        ("11.4.2-MariaDB", 0, ChecksumAlgorithm.OFF, 0),
    ],
)
def test_checksums_depend_on_the_version(
    version: str, algorithm: int | None, expected: ChecksumAlgorithm, length: int
) -> None:
    event = read(format_description(version, algorithm))
    assert event.server_version == version
    assert event.checksum_algorithm == expected
    assert event.checksum_length == length
    assert event.has_own_checksum == (algorithm is not None)
    assert len(event.post_header_lengths) == (27 if algorithm is None else 42)


def test_the_format_description_of_a_real_server_is_read() -> None:
    recording = recorded("plain")[4:]
    event = read(recording[: int.from_bytes(recording[9:13], "little")])
    assert event.version[:2] == (9, 7)
    assert (event.binlog_version, event.header_length, event.in_use) == (4, 19, False)
    assert not event.mariadb
    assert event.post_header_length(EventType.QUERY, 0) == 13
    assert event.post_header_length(EventType.WRITE_ROWS, 0) == 10


def test_the_in_use_flag_marks_a_file_that_was_not_closed() -> None:
    assert read(format_description(in_use=True)).in_use


def test_a_type_newer_than_the_server_has_the_default_post_header() -> None:
    assert described("5.1.50", bytes(26), None).post_header_length(EventType.WRITE_ROWS, 9) == 9


def test_types_of_trees_of_2006_are_renumbered() -> None:
    lengths = bytes([0] * 15 + [6, 7, 8, 9, 10, 11, 12])
    old = described("5.2.2-a_drop6p13-log", lengths, None)
    today = described("5.1.50", lengths, None)
    assert today.post_header_length(EventType.TABLE_MAP, 0) == 9
    assert old.post_header_length(EventType.TABLE_MAP, 0) == 6
    assert old.post_header_length(EventType.EXECUTE_LOAD_QUERY, 0) == 12


@pytest.mark.parametrize(
    ("offset", "value", "error", "reason"),
    [
        (19, 3, UnsupportedError, "binlog version 3"),
        (19 + 56, 27, MalformedError, "27 bytes, not 19"),
        (-5, 2, MalformedError, "checksum algorithm 2"),
    ],
)
def test_unsupported_and_malformed_descriptions_are_refused(
    offset: int, value: int, error: type[BinlogError], reason: str
) -> None:
    event = bytearray(format_description())
    event[offset] = value
    with pytest.raises(error, match=reason):
        read(bytes(event))


def test_more_types_than_a_version_without_checksums_has_are_refused() -> None:
    event = bytearray(format_description("9.7.0"))
    event[19 + 2] = ord("1")
    with pytest.raises(MalformedError, match=r"more than version 1\.7\.0 has"):
        read(bytes(event))


def test_every_truncation_is_refused() -> None:
    event = format_description()
    for end in range(19, len(event) - 41):
        with pytest.raises(MalformedError):
            read(event[:end])
