"""Logs of MySQL 3.23 and 4.x, which have no rows: their versions, events and segments."""

from __future__ import annotations

import struct
from typing import Any

import pytest

import decoder
from decoder import BinlogError, Segmenter
from decoder.constants import MAGIC, EventType
from decoder.errors import MalformedError, UnsupportedError
from decoder.events.create_file import CreateFileEvent
from decoder.events.event import Event
from decoder.events.exec_load import ExecLoadEvent
from decoder.events.load import LoadEvent, LoadFlag, LoadOptions
from decoder.events.query import QueryEvent
from decoder.events.rotate import RotateEvent
from decoder.events.slave import SlaveEvent
from decoder.events.start_v3 import StartV3Event
from decoder.model.results import Result, Statements
from decoder.model.segment import Segment
from decoder.segments.log_header import read_description, read_head
from tests.support.decoder.event_bytes import event_bytes, format_description
from tests.support.decoder.logs import decoded, faults, transactions
from tests.support.decoder.mutations import READERS, is_refused
from tests.support.decoder.old_logs import (
    CREATED,
    INTVAR,
    LOAD_HEAD,
    LOAD_NAMES,
    NEW_OPTIONS,
    OLD_OPTIONS,
    RAND,
    SERVER_ID,
    SLAVE,
    USER_VAR,
    V1,
    V3,
    OldLog,
    query,
)

OF_1 = V1.log(
    query("CREATE TABLE cups (a INT, name CHAR(9))"),
    (EventType.INTVAR, INTVAR),
    query("INSERT INTO cups VALUES (NULL, 'x')"),
    (EventType.LOAD, LOAD_HEAD + OLD_OPTIONS + LOAD_NAMES + b"cups.txt"),
    (EventType.STOP, b""),
    V1.rotate("log.002"),
)
OF_3 = V3.log(
    query("CREATE TABLE cups (a INT, name CHAR(9))"),
    query("BEGIN"),
    (EventType.RAND, RAND),
    (EventType.USER_VAR, USER_VAR),
    query("INSERT INTO cups VALUES (NULL, 'x')"),
    query("COMMIT"),
    (
        EventType.CREATE_FILE,
        LOAD_HEAD + struct.pack("<I", 3) + NEW_OPTIONS + LOAD_NAMES + b"cups.txt\0" + b"1,a\n",
    ),
    (EventType.APPEND_BLOCK, struct.pack("<I", 3) + b"2,b\n"),
    (EventType.EXEC_LOAD, struct.pack("<I", 3)),
    (EventType.NEW_LOAD, LOAD_HEAD + NEW_OPTIONS + LOAD_NAMES + b"cups.txt"),
    (EventType.DELETE_FILE, struct.pack("<I", 4)),
    (EventType.SLAVE, SLAVE),
    V3.rotate("log.002"),
)
HEADLESS = V3.log(*[query(f"DROP TABLE t{n}") for n in range(5)], start=False)
LOGS = {"version 1": (V1, OF_1), "version 3": (V3, OF_3)}
each_log = pytest.mark.parametrize(("old", "log"), LOGS.values(), ids=LOGS)


def listed(log: bytes) -> list[Any]:
    return list(decoder.events(log))


@each_log
def test_events_are_consecutive_to_the_end(old: OldLog, log: bytes) -> None:
    found = listed(log)
    ends = [event.position + event.size for event in found]
    assert [event.position for event in found] == [4, *ends[:-1]]
    assert ends[-1] == len(log)
    assert {event.server_id for event in found} == {SERVER_ID}
    # Version 3 logs where an event starts, version 1 nothing.
    assert [event.log_pos for event in found] == (ends if old is V3 else [0] * len(ends))
    assert {event.header.length for event in found} == {old.header_length}


@each_log
def test_the_version_is_read_from_the_first_event(old: OldLog, log: bytes) -> None:
    start = listed(log)[0]
    assert type(start) is StartV3Event
    assert (start.binlog_version, start.server_version) == (old.version, old.server)
    assert start.created == CREATED
    assert start.size == (69 if old is V1 else 75)
    description = read_description(log)
    assert description == start.description()
    assert (description.binlog_version, description.header_length) == (
        old.version,
        old.header_length,
    )
    assert description.post_header_length(EventType.QUERY, 13) == 11
    assert description.post_header_length(EventType.ROTATE, 8) == (0 if old is V1 else 8)


def only(log: bytes, kind: type[Event]) -> list[Any]:
    return [event for event in listed(log) if type(event) is kind]


@each_log
def test_statements_and_the_next_file(old: OldLog, log: bytes) -> None:
    statement = only(log, QueryEvent)[0]
    assert (statement.thread_id, statement.execution_time, statement.schema) == (9, 1, "shop")
    assert statement.query == "CREATE TABLE cups (a INT, name CHAR(9))"
    (rotate,) = only(log, RotateEvent)
    assert (rotate.next_position, rotate.next_file) == (4, "log.002")


def test_load_data_events_of_every_type() -> None:
    (old,) = only(OF_1, LoadEvent)
    (new,) = only(OF_3, LoadEvent)
    (create,) = only(OF_3, CreateFileEvent)
    flags = LoadFlag.OPTIONALLY_ENCLOSED | LoadFlag.REPLACE
    assert old.options == LoadOptions(b",", b'"', b"\n", b"", b"\\", flags)
    assert new.options == create.options == LoadOptions(b",", b'"', b"\r\n", b"", b"\\", flags)
    for event in (old, new, create):
        assert (event.thread_id, event.execution_time, event.skip_lines) == (9, 2, 1)
        assert (event.schema, event.table, event.columns) == ("shop", "cups", ("a", "name"))
        assert event.file_name == "cups.txt"
    assert (create.file_id, create.block) == (3, b"1,a\n")
    assert [event.file_id for event in only(OF_3, ExecLoadEvent)] == [3]


def test_a_replicas_position() -> None:
    (event,) = only(OF_3, SlaveEvent)
    assert (event.source_position, event.source_port) == (4, 3306)
    assert (event.source_host, event.source_log) == ("source.example", "source-bin.001")


def test_a_version_3_file_may_lack_a_start_event() -> None:
    """4.x wrote one only when the server started."""
    log = V3.log(query("DROP TABLE cups"), V3.rotate("log.003"), start=False)
    assert [event.name for event in listed(log)] == ["QUERY", "ROTATE"]
    assert read_description(log).binlog_version == 3
    assert read_head(log).incarnation != read_head(OF_3).incarnation
    assert not faults(decoded(log))


def test_a_version_4_log_with_a_damaged_type_byte_is_not_read_as_version_3() -> None:
    log = bytearray(MAGIC + format_description())
    log[17:21] = struct.pack("<I", len(log))
    for code in (2, 7, 14):
        log[8] = code
        for reader in READERS.values():
            assert is_refused(reader, bytes(log))
        with pytest.raises(BinlogError):
            read_head(bytes(log))


def test_version_2_is_refused() -> None:
    log = MAGIC + V3.start(version=2)
    with pytest.raises(UnsupportedError, match="binlog version 2"):
        listed(log)
    with pytest.raises(UnsupportedError, match="binlog version 2"):
        read_head(log)


@each_log
def test_events_of_later_versions_are_refused(old: OldLog, log: bytes) -> None:
    data = log + old.event(EventType.XID, bytes(8))
    with pytest.raises(MalformedError, match=f"version {old.version} of the format") as caught:
        listed(data)
    assert (caught.value.position, caught.value.event_type) == (len(log), "XID")
    assert len(log) in [fault["__pos"] for fault in faults(decoded(data))]


def test_a_relay_log_may_switch_to_version_4() -> None:
    log = V3.log(V3.rotate("source-bin.001"), start=False)
    log += format_description("5.0.96", None) + event_bytes(EventType.XID, bytes(8))
    assert [event.name for event in listed(log)] == ["ROTATE", "FORMAT_DESCRIPTION", "XID"]


@each_log
def test_dml_statements_are_faults_and_the_rest_is_decoded(old: OldLog, log: bytes) -> None:
    results = decoded(log)
    assert {fault["kind"] for fault in faults(results)} <= {"statement", "unsupported"}
    changes = [f["event_type"] for f in faults(results) if f["kind"] == "statement"]
    loads = ["LOAD"] if old is V1 else ["CREATE_FILE", "EXEC_LOAD", "NEW_LOAD"]
    assert changes == ["QUERY", *loads]
    logged = [
        row["query"] for r in results if isinstance(r, Statements) for row in r.batch.to_pylist()
    ]
    assert logged == [
        "CREATE TABLE cups (a INT, name CHAR(9))",
        "INSERT INTO cups VALUES (NULL, 'x')",
    ]
    assert not [row for row in transactions(results) if row["server_id"] != SERVER_ID]


@pytest.mark.parametrize("log", [OF_1, OF_3, HEADLESS], ids=["1", "3", "3 without a start"])
def test_segments_of_old_logs_decode_independently(log: bytes) -> None:
    segmenter = Segmenter(target=1, limit=1 << 20)
    segmenter.feed(log)
    segmenter.finish()
    assert segmenter.fault is None
    assert len(segmenter.segments) > 3
    assert b"".join(log[c.start.position : c.end.position] for c in segmenter.segments) == log
    parts = []
    for bounds in segmenter.segments:
        segment = Segment("log", 1, bounds.start.position, bounds.transaction_pos, bounds.preamble)
        parts += decoded(log[bounds.start.position : bounds.end.position], segment)
    whole = decoded(log)
    assert places(parts) == places(whole)
    assert len(transactions(parts)) == len(transactions(whole)) > 1


def places(results: list[Result]) -> list[tuple[object, object]]:
    return sorted((fault["__pos"], fault["kind"]) for fault in faults(results))


@each_log
def test_a_log_truncated_inside_an_event_is_refused(old: OldLog, log: bytes) -> None:
    between = {event.position for event in listed(log)} | {len(log)}
    for end in range(len(log)):
        assert is_refused(READERS["events"], log[:end]) == (end not in between), end


@each_log
@pytest.mark.parametrize("reader", READERS)
def test_flipped_bits_are_read_or_refused(old: OldLog, log: bytes, reader: str) -> None:
    refused = 0
    for bit in range(32, len(log) * 8, 5 if reader == "events" else 17):
        damaged = bytearray(log)
        damaged[bit // 8] ^= 1 << bit % 8
        refused += is_refused(READERS[reader], bytes(damaged))
    assert refused
