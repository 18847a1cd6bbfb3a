"""Logs of other origins, MySQL 5.0 to 8.0 and Aurora, compared with mysqlbinlog's output."""

from __future__ import annotations

import re
from collections import Counter
from pathlib import Path

import pytest

import decoder
from decoder.constants import ColumnType
from decoder.errors import TruncatedError
from decoder.events.event import Event
from decoder.events.gtid import GtidEvent
from decoder.events.table_map import TableMapEvent
from tests.support.servers.mysql import MySQLServer

FOLDER = Path(__file__).parent.parent.parent.parent.parent / "shared" / "binlogs"
pytestmark = [
    pytest.mark.beside,
    pytest.mark.skipif(
        not FOLDER.is_dir(), reason="../shared/binlogs, the logs of other projects, is not there"
    ),
]

SINCE_5_6 = (
    "binlog-invisible-columns.000001",
    "binlog_56_gtid_reserved_word.000001",
    "binlog_transaction_previous_GTID_no_tag.000001",
    "binlog_transaction_with_GTID.000001",
    "binlog_transaction_with_anonymous_GTID.000001",
    "bug27213339-bin.000001",
    "json.binlog.000001",
    "master-bin.000001",
    "minimal_row_metadata.000001",
    "mysql-bin.aurora-padding",
    "mysql-bin.checksum-crc32",
    "mysql-bin.checksum-none",
    "mysql-bin.compressed",
    "mysql_type_bit.000001",
    "rpl_atomic_ddl_rollback_full.000001",
    "time_issue.000001",
    "transaction_compression.000001",
)
BEFORE_5_6 = {
    "binlog_transaction.000001": {"FORMAT_DESCRIPTION": 1, "QUERY": 17, "XID": 1, "ROTATE": 1},
    "bug33029-slave-relay-bin.000001": {
        "FORMAT_DESCRIPTION": 2,
        "ROTATE": 1,
        "QUERY": 28,
        "INTVAR": 11,
        "STOP": 1,
    },
    "ver_5_1-wl2325_s.001": {
        "FORMAT_DESCRIPTION": 1,
        "QUERY": 6,
        "XID": 1,
        "USER_VAR": 1,
        "RAND": 1,
        "INTVAR": 1,
        "BEGIN_LOAD_QUERY": 1,
        "APPEND_BLOCK": 1,
        "EXECUTE_LOAD_QUERY": 1,
        "STOP": 1,
    },
    "binlog_savepoint.000001": {"FORMAT_DESCRIPTION": 2, "ROTATE": 1, "QUERY": 8, "XID": 1},
    "write-full-row.binlog": {
        "FORMAT_DESCRIPTION": 1,
        "QUERY": 2,
        "TABLE_MAP": 2,
        "WRITE_ROWS_V1": 2,
        "DELETE_ROWS_V1": 1,
        "ROTATE": 1,
    },
    "write-partial-row.binlog": {
        "FORMAT_DESCRIPTION": 1,
        "QUERY": 2,
        "TABLE_MAP": 2,
        "WRITE_ROWS_V1": 3,
        "DELETE_ROWS_V1": 1,
        "ROTATE": 1,
    },
    "update-full-row.binlog": {
        "FORMAT_DESCRIPTION": 1,
        "QUERY": 2,
        "TABLE_MAP": 2,
        "WRITE_ROWS_V1": 2,
        "UPDATE_ROWS_V1": 1,
        "DELETE_ROWS_V1": 1,
        "ROTATE": 1,
    },
}
"""mysqlbinlog 9.7 no longer reads these."""

EVENT = re.compile(
    rb"^# at (\d+)\n#\d{6} [ \d]\d:\d\d:\d\d server id (\d+)  end_log_pos (\d+) "
    rb"(?:CRC32 \w+ )?\t(\w[-\w]*)",
    re.MULTILINE,
)
TYPES = {
    b"Start": "FORMAT_DESCRIPTION",
    b"Previous-GTIDs": "PREVIOUS_GTIDS",
    b"GTID": "GTID",
    b"Anonymous_GTID": "ANONYMOUS_GTID",
    b"Query": "QUERY",
    b"Table_map": "TABLE_MAP",
    b"Write_rows": "WRITE_ROWS",
    b"Update_rows": "UPDATE_ROWS",
    b"Update_rows_partial": "PARTIAL_UPDATE_ROWS",
    b"Delete_rows": "DELETE_ROWS",
    b"Xid": "XID",
    b"Rotate": "ROTATE",
    b"Stop": "STOP",
    b"Rows_query": "ROWS_QUERY",
    b"Transaction_Payload": "TRANSACTION_PAYLOAD",
    b"Ignorable": "UNKNOWN_100",
    b"Unknown": "UNKNOWN_100",
}


def content(name: str) -> bytes:
    return (FOLDER / name).read_bytes()


@pytest.mark.parametrize("name", SINCE_5_6)
def test_events_equal_those_of_mysqlbinlog(name: str, mysql: MySQLServer) -> None:
    listed = [
        (int(position), int(server), int(log_pos), TYPES[kind])
        for position, server, log_pos, kind in EVENT.findall(
            mysql.tool("mysqlbinlog", "--force-if-open", str(FOLDER / name))
        )
    ]
    found = [
        # mysqlbinlog reports the end position of a payload for all events in it.
        (
            event.position + payload_size if event.inside_payload else event.position,
            event.server_id,
            event.position + payload_size if event.inside_payload else event.log_pos,
            event.name,
        )
        for event, payload_size in _with_payload_sizes(content(name))
        if event.name != "UNKNOWN_100"
    ]
    assert found == [event for event in listed if event[3] != "UNKNOWN_100"]


def _with_payload_sizes(data: bytes) -> list[tuple[Event, int]]:
    size = 0
    found = []
    for event in decoder.events(data):
        if not event.inside_payload:
            size = event.size
        found.append((event, size))
    return found


@pytest.mark.parametrize("name", BEFORE_5_6)
def test_events_of_older_servers(name: str) -> None:
    data = content(name)
    log = list(decoder.events(data))
    assert Counter(event.name for event in log) == BEFORE_5_6[name]
    ends = [event.position + event.size for event in log]
    assert [event.position for event in log] == [4, *ends[:-1]]
    assert ends[-1] == len(data)


def test_a_file_that_ends_inside_an_event() -> None:
    with pytest.raises(TruncatedError) as caught:
        list(decoder.events(content("binlog_truncated_event.000001")))
    assert caught.value.position == 4


def test_auroras_padding_is_an_ignorable_event_of_an_unknown_type() -> None:
    (padding,) = (
        event
        for event in decoder.events(content("mysql-bin.aurora-padding"))
        if event.name == "UNKNOWN_100"
    )
    assert padding.flags.name == "IGNORABLE"


def tables(name: str) -> dict[str, TableMapEvent]:
    return {
        str(event.definition): event
        for event in decoder.events(content(name))
        if isinstance(event, TableMapEvent)
    }


def test_invisible_columns() -> None:
    (event,) = (
        event
        for event in tables("binlog-invisible-columns.000001").values()
        if any(not column.visible for column in event.definition.columns)
    )
    assert [column.visible for column in event.definition.columns].count(False) >= 1


def test_bit_columns_of_any_width() -> None:
    (event,) = tables("mysql_type_bit.000001").values()
    bits = [c.length for c in event.definition.columns if c.type == ColumnType.BIT]
    assert bits
    assert all(1 <= length <= 64 for length in bits)


def test_minimal_metadata_names_no_columns() -> None:
    (event,) = tables("minimal_row_metadata.000001").values()
    assert not event.definition.complete_metadata
    assert event.definition.columns[0].name == "c1"


def test_gtids_of_5_6_have_no_commit_time() -> None:
    found = [
        event
        for event in decoder.events(content("binlog_56_gtid_reserved_word.000001"))
        if isinstance(event, GtidEvent)
    ]
    assert len(found) == 6
    assert {event.immediate_commit_timestamp for event in found} == {None}
