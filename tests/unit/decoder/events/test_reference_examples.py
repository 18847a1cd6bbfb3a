"""Hex dumps of real events from documents about the format, and where those are wrong."""

from __future__ import annotations

import zlib
from typing import Any

import pytest

from decoder import events
from decoder.constants import ChecksumAlgorithm, ColumnType, EventFlag, EventType
from decoder.errors import MalformedError
from decoder.events.cursor import Cursor
from decoder.events.event import Event
from decoder.events.format_description import FormatDescriptionEvent
from decoder.events.header import EventHeader
from decoder.events.heartbeat import HeartbeatEvent
from decoder.events.previous_gtids import PreviousGtidsEvent
from decoder.events.query import QueryEvent
from decoder.events.registry import parse
from decoder.events.rotate import RotateEvent
from decoder.events.rows import RowsEvent, RowsFlag
from decoder.events.table_map import TableMapEvent
from decoder.events.user_var import UserVarEvent
from decoder.events.xid import XidEvent
from tests.support.decoder.event_bytes import event_bytes, parsed

# A server of 8.0.15 with id 1122, whose log several articles print.
FORMAT_DESCRIPTION = """
    2946675d 0f 62040000 78000000 7c000000 0000
    0400382e302e31352d646562756700000000000000000000000000000000
    000000000000000000000000000000000000000000002946675d13
    000d0008000000000400040000006000041a08000000080808020000000a0a0a2a2a001234000a 01 31118ca8"""
PREVIOUS_GTIDS = """
    0fab015e 23 6a040000 47000000 c3000000 8000
    0100000000000000 6cea54addde611e99505525400d0702c 0100000000000000
    1a02000000000000 1f02000000000000 b7102d95"""
QUERY = """
    3846675d 02 62040000 4b000000 5d010000 0800
    0b000000 00000000 04 0000 1d00
    00 00000000 01 2000a04500000000 06 03 737464 04 2100 2100 2100 12 ff00
    6465616e 00 424547494e 9d1cb9eb"""
WRITE_ROWS = """
    c46d845d 1e 62040000 2c000000 9d010000 0000
    3e0000000000 0100 0200 03 ff 00 01 31 01000000 01 31 032065c7"""
XID = "8e4e675d 10 62040000 1f000000 07030000 0000 0900000000000000 5eaaee92"
ROTATE = """
    6794675d 04 62040000 2f000000 36030000 0000
    0400000000000000 6d7973716c2d62696e2e303030303234 68ee6e73"""
# The log of a talk: CREATE TABLE person (ID INT PRIMARY KEY, name VARCHAR(150)).
TABLE_MAP = """
    32103568 13 01000000 44000000 b0020000 0000
    5f0000000000 0100 0c 70726573656e746174696f6e 00 06 706572736f6e 00
    02 030f 02 5802 02 010100 0203fcff00 fba8d0d8"""
PERSON_ROWS = """
    32103568 1e 01000000 31000000 e1020000 0000
    5f0000000000 0100 0200 02 ff 00 01000000 0700 4d617263656c6f 8e965c4f"""
EXAMPLES = {
    "FORMAT_DESCRIPTION": FORMAT_DESCRIPTION,
    "QUERY": QUERY,
    "WRITE_ROWS": WRITE_ROWS,
    "XID": XID,
    "ROTATE": ROTATE,
    "PREVIOUS_GTIDS": PREVIOUS_GTIDS,
    "TABLE_MAP": TABLE_MAP,
    "PERSON_ROWS": PERSON_ROWS,
}


def raw(example: str) -> bytes:
    return bytes.fromhex("".join(example.split()))


def description() -> FormatDescriptionEvent:
    data = memoryview(raw(FORMAT_DESCRIPTION))
    return FormatDescriptionEvent.parse(Cursor(data[19:], EventHeader.parse(data, 0, 4)))


def event(example: str) -> Any:
    data = memoryview(raw(example))
    return parse(data[19:-4], EventHeader.parse(data, 0, 1234), description())


@pytest.mark.parametrize("name", EXAMPLES)
def test_sizes_and_checksums_of_the_dumps_are_right(name: str) -> None:
    data = raw(EXAMPLES[name])
    assert EventHeader.parse(memoryview(data), 0, 4).size == len(data)
    assert zlib.crc32(data[:-4]) == int.from_bytes(data[-4:], "little")


def test_format_description() -> None:
    found = description()
    assert (found.server_version, found.created) == ("8.0.15-debug", 0x5D674629)
    assert (found.version, found.checksum_algorithm) == ((8, 0, 15), ChecksumAlgorithm.CRC32)
    assert found.post_header_lengths[:4] == bytes([0, 13, 0, 8])
    assert len(found.post_header_lengths) == EventType.PARTIAL_UPDATE_ROWS
    assert found.log_pos == 4 + found.size


def test_query() -> None:
    found = event(QUERY)
    assert type(found) is QueryEvent
    assert (found.thread_id, found.schema, found.query) == (11, "dean", "BEGIN")
    assert (found.status.sql_mode, found.status.catalog) == (0x45A00020, "std")
    assert found.status.client_collation == found.status.server_collation == 33
    assert found.status.default_collation_for_utf8mb4 == 255
    assert found.flags == EventFlag.SUPPRESS_USE


def test_table_map() -> None:
    found = event(TABLE_MAP)
    assert type(found) is TableMapEvent
    number, name = found.definition.columns
    assert (found.table_id, str(found.definition)) == (95, "presentation.person")
    assert (number.type, number.nullable, number.unsigned) == (ColumnType.LONG, False, False)
    assert (name.type, name.nullable, name.collation) == (ColumnType.VARCHAR, True, 255)
    # 150 characters of utf8mb4; the talk has "600 bytes", of which a length takes two bytes.
    assert (name.length, name.length_bytes) == (600, 2)


@pytest.mark.parametrize(
    ("example", "table_id", "columns", "rows"),
    [
        (WRITE_ROWS, 62, 3, b"\0\x011\x01\0\0\0\x011"),
        (PERSON_ROWS, 95, 2, b"\0\x01\0\0\0\x07\0Marcelo"),
    ],
)
def test_write_rows(example: str, table_id: int, columns: int, rows: bytes) -> None:
    found = event(example)
    assert type(found) is RowsEvent
    assert (found.table_id, found.rows_flags) == (table_id, RowsFlag.STATEMENT_END)
    assert (found.column_count, found.columns_before, found.columns_after) == (
        columns,
        None,
        b"\xff",
    )
    assert raw(example)[found.rows_offset : -4] == rows


def test_xid_and_rotate() -> None:
    commit, rotate = event(XID), event(ROTATE)
    assert (type(commit), commit.xid) == (XidEvent, 9)
    assert (type(rotate), rotate.next_position) == (RotateEvent, 4)
    assert rotate.next_file == "mysql-bin.000024"


def test_previous_gtids() -> None:
    found = event(PREVIOUS_GTIDS)
    assert type(found) is PreviousGtidsEvent
    assert str(found.gtid_set) == "6cea54ad-dde6-11e9-9505-525400d0702c:538-542"
    assert found.flags == EventFlag.IGNORABLE


def test_the_dumps_are_a_log() -> None:
    log = b"\xfebin" + b"".join(map(raw, (FORMAT_DESCRIPTION, QUERY, WRITE_ROWS, XID, ROTATE)))
    found: list[Event] = list(events(log))
    assert [e.name for e in found[1:]] == ["QUERY", "WRITE_ROWS", "XID", "ROTATE"]


class TestWhereADocumentIsWrong:
    """The format that servers actually write, where a document differs."""

    def test_0xfd_has_3_bytes_and_0xfe_has_8(self) -> None:
        """A talk has them swapped."""
        header = EventHeader.parse(memoryview(event_bytes(2, b"")), 0, 4)
        three, eight = b"\xfd\x01\x02\x03", b"\xfe\x01\x02\x03\x04\x05\x06\x07\x08"
        assert Cursor(memoryview(three), header).length_encoded() == 0x030201
        assert Cursor(memoryview(eight), header).length_encoded() == 0x0807060504030201
        with pytest.raises(MalformedError):
            Cursor(memoryview(eight[:4]), header).length_encoded()

    def test_a_heartbeat_has_a_payload(self) -> None:
        """According to the internals manual it has none; it contains the name of the log."""
        found = parsed(27, b"binlog.000007")
        assert isinstance(found, HeartbeatEvent)
        assert found.log_file == "binlog.000007"

    def test_a_decimals_groups_are_of_its_type_not_of_its_value(self) -> None:
        """An article packs -12345.67 of a DECIMAL(10,2) in 4 bytes, which is the width of (7,2)."""
        assert self._decimal(7, 2, "7fcfc6bc") == "-12345.67"
        assert self._decimal(10, 2, "7fffcfc6bc") == "-12345.67"

    def _decimal(self, precision: int, scale: int, content: str) -> Any:
        value = bytes([precision, scale]) + bytes.fromhex(content)
        body = b"\x01\0\0\0v\0\x04" + bytes(4) + len(value).to_bytes(4, "little") + value
        found = parsed(14, body)
        assert isinstance(found, UserVarEvent)
        return found.value

    def test_extra_data_of_rows_are_no_fractions_of_seconds(self) -> None:
        """A talk claims that they are; they are the partition, or NDB's own data."""
        found = event(PERSON_ROWS)
        assert (found.partition, found.source_partition, found.ndb) == (None, None, None)
