from __future__ import annotations

import struct
from typing import Any

import pytest

from decoder import events
from decoder.constants import EventType
from decoder.errors import MalformedError
from decoder.events.execute_load_query import ExecuteLoadQueryEvent
from decoder.events.query import QueryEvent
from decoder.events.status_variables import StatusVariables
from tests.support.decoder.event_bytes import described, parsed, recorded


def body(status: bytes = b"", query: bytes = b"BEGIN", schema: bytes = b"shop") -> bytes:
    head = struct.pack("<IIBHH", 8, 2, len(schema), 1062, len(status))
    return head + status + schema + b"\0" + query


def query(content: bytes) -> QueryEvent:
    event = parsed(EventType.QUERY, content)
    assert isinstance(event, QueryEvent)
    return event


STATUS = {
    b"\x00" + struct.pack("<I", 0x4000): {"flags2": 0x4000},
    b"\x01" + struct.pack("<Q", 1 << 40): {"sql_mode": 1 << 40},
    b"\x02\x03std\x00": {"catalog": "std"},
    b"\x02\x00": {"catalog": ""},
    b"\x03" + struct.pack("<HH", 3, 2): {
        "auto_increment_increment": 3,
        "auto_increment_offset": 2,
    },
    b"\x04" + struct.pack("<HHH", 28, 255, 8): {
        "client_collation": 28,
        "connection_collation": 255,
        "server_collation": 8,
    },
    b"\x05\x06+05:30": {"time_zone": "+05:30"},
    b"\x06\x03std": {"catalog": "std"},
    b"\x07" + struct.pack("<H", 4): {"lc_time_names": 4},
    b"\x08" + struct.pack("<H", 8): {"schema_collation": 8},
    b"\x09" + struct.pack("<Q", 3): {"table_map_for_update": 3},
    b"\x0a" + struct.pack("<I", 99): {"master_data_written": 99},
    b"\x0b\x04root\x09localhost": {"invoker_user": "root", "invoker_host": "localhost"},
    b"\x0c\x02a\x00b\x00": {"updated_schemas": ("a", "b")},
    b"\x0c\xfe": {"updated_schemas": None},
    b"\x0d" + (999_999).to_bytes(3, "little"): {"microseconds": 999_999},
    b"\x10\x01": {"explicit_defaults_for_timestamp": True},
    b"\x11" + struct.pack("<Q", 77): {"ddl_xid": 77},
    b"\x12" + struct.pack("<H", 45): {"default_collation_for_utf8mb4": 45},
    b"\x13\x01": {"sql_require_primary_key": 1},
    b"\x14\x01": {"default_table_encryption": 1},
    b"\x15\x00": {"enable_cascade_triggers": 0},
    b"\x80" + (5).to_bytes(3, "little"): {"hrnow": 5},
    b"\x81" + struct.pack("<Q", 6): {"xid": 6},
    b"\x63younger": {"unread": b"\x63younger"},
}


@pytest.mark.parametrize("status", STATUS, ids=lambda status: f"code {status[0]}")
def test_status_variables(status: bytes) -> None:
    event = query(body(b"\x00\x01\x00\x00\x00" * (status[0] != 0) + status, b"SELECT 1"))
    flags2 = {} if status[0] == 0 else {"flags2": 1}
    assert event.status == StatusVariables(**(flags2 | STATUS[status]))
    assert (event.schema, event.query) == ("shop", "SELECT 1")


@pytest.mark.parametrize("status", [s for s in STATUS if len(s) > 1 and s[0] < 0x63], ids=str)
def test_a_truncated_status_variable_is_refused(status: bytes) -> None:
    with pytest.raises(MalformedError):
        query(body(status[:-1]))


def test_the_session_of_a_statement() -> None:
    event = query(body())
    assert (event.thread_id, event.execution_time, event.error_code) == (8, 2, 1062)
    assert (event.schema, event.query) == ("shop", "BEGIN")


@pytest.mark.parametrize(
    ("collation", "text"),
    [
        (8, b"COMMENT '\xfc'"),
        (28, b"COMMENT '\xc3\xbc'"[:9] + b"\xa8\xb9'"),
        (255, "COMMENT 'ü'".encode()),
    ],
)
def test_a_statement_is_decoded_from_its_clients_charset(collation: int, text: bytes) -> None:
    status = b"\x04" + struct.pack("<HHH", collation, 255, 255)
    assert query(body(status, text)).query == "COMMENT 'ü'"


@pytest.mark.parametrize("collation", [255, 2000])
def test_invalid_bytes_of_a_statement_are_replaced(collation: int) -> None:
    status = b"\x04" + struct.pack("<HHH", collation, 255, 255)
    assert query(body(status, b"SET @x = '\xff'")).query == "SET @x = '�'"


@pytest.mark.parametrize(
    "content",
    [
        struct.pack("<IIBHH", 8, 2, 4, 0, 99) + b"\0shop\0BEGIN",
        struct.pack("<IIBHH", 8, 2, 200, 0, 0) + b"shop\0BEGIN",
        struct.pack("<II", 8, 2),
    ],
)
def test_lengths_beyond_the_event_are_refused(content: bytes) -> None:
    with pytest.raises(MalformedError):
        query(content)


def test_a_post_header_that_is_too_short_is_refused() -> None:
    lengths = bytes([56, 10]) + bytes(30)
    with pytest.raises(MalformedError, match="10 bytes"):
        parsed(EventType.QUERY, body(), described("5.0.1", lengths, None))


def test_a_statement_of_mysql_4_has_no_status_variables() -> None:
    lengths = bytes([56, 11]) + bytes(30)
    content = struct.pack("<IIBH", 9, 1, 4, 0) + b"shop\0DROP TABLE t"
    event = parsed(EventType.QUERY, content, described("5.0.1", lengths, None))
    assert isinstance(event, QueryEvent)
    assert (event.schema, event.query, event.status) == ("shop", "DROP TABLE t", StatusVariables())


@pytest.mark.parametrize(
    ("variables", "expected"),
    [
        (b"\x80\x01\x02\x03", {"hrnow": 0x030201}),
        (b"\x81" + struct.pack("<Q", 7), {"xid": 7}),
        (b"\x82\x01", {"gtid_flags_extra": 1}),
        (
            b"\x82\x04" + struct.pack("<Q", 9),
            {"gtid_flags_extra": 4, "start_alter_number": 9},
        ),
        # MariaDB writes 131 before 4, although codes are documented to be ascending.
        (
            b"\x83\x02"
            + struct.pack("<4H", 45, 2347, 8, 8)
            + b"\x04"
            + struct.pack("<3H", 1, 2, 3),
            {
                "character_set_collations": ((45, 2347), (8, 8)),
                "client_collation": 1,
                "connection_collation": 2,
                "server_collation": 3,
            },
        ),
        (b"\x80\x01\x02\x03\xff\xff", {"hrnow": 0x030201, "unread": b"\xff\xff"}),
    ],
)
def test_mariadbs_status_variables(variables: bytes, expected: dict[str, Any]) -> None:
    content = struct.pack("<IIBHH", 9, 1, 0, 0, len(variables)) + variables + b"\0COMMIT"
    event = parsed(EventType.QUERY, content)
    assert isinstance(event, QueryEvent)
    assert event.status == StatusVariables(**expected)


def test_session_variables_of_a_real_server() -> None:
    statements = [e for e in events(recorded("statements")) if type(e) is QueryEvent]
    by_text = {event.query.split("(")[0].strip(): event for event in statements}
    insert = by_text["INSERT INTO t"].status
    assert insert.time_zone == "+05:30"
    assert insert.microseconds is not None
    assert (insert.sql_mode, insert.lc_time_names) == (0, 4)
    assert (insert.auto_increment_increment, insert.auto_increment_offset) == (3, 1)
    assert insert.default_collation_for_utf8mb4 == 45
    both = by_text["UPDATE t, other.u SET t.a = 'x', other.u.id = 1 WHERE t.id = other.u.id"]
    assert both.status.updated_schemas == ("shop", "other")
    assert both.status.table_map_for_update == 3
    database = by_text["CREATE DATABASE other COLLATE latin1_swedish_ci"].status
    assert database.default_table_encryption == 0
    assert database.ddl_xid is not None
    procedure = by_text["CREATE DEFINER=`root`@`localhost` PROCEDURE `p`"].status
    assert (procedure.invoker_user, procedure.invoker_host) == ("root", "localhost")
    assert by_text["CREATE TABLE other.u"].query.endswith("COMMENT 'ü'")
    assert by_text["CREATE TABLE u2"].status.client_collation == 8
    assert {event.status.unread for event in statements} == {b""}


def test_load_data_is_a_statement_with_a_file() -> None:
    (event,) = (e for e in events(recorded("statements")) if isinstance(e, ExecuteLoadQueryEvent))
    assert event.query[event.file_name_start : event.file_name_end] == (
        " INFILE 'load.txt' IGNORE INTO"
    )
    assert event.file_id == 1
    assert event.duplicates == 1
    assert event.schema == "shop"
