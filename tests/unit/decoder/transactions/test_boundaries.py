"""Boundaries of transactions, by every rule of the design and in windows of any size."""

from __future__ import annotations

import struct

import numpy as np
import pytest

from decoder.constants import EventType
from decoder.framing.frames import frame
from decoder.transactions.boundaries import EventRoles, Statement, TransactionTracker
from tests.support.decoder.event_bytes import event_bytes, format_description
from tests.support.decoder.logs import INT, Table, gtid, query, xid

T = Table(3, "t", (INT,))
V1 = EventType.WRITE_ROWS_V1


def roles_of(events: list[bytes], *, window: int | None = None, base: int = 0) -> list[EventRoles]:
    tracker = TransactionTracker()
    found = []
    step = window or len(events)
    position = base
    for first in range(0, len(events), step):
        content = b"".join(events[first : first + step])
        buffer = np.zeros(16 + len(content) + 64, np.uint8)
        buffer[16 : 16 + len(content)] = np.frombuffer(content, np.uint8)
        frames = frame(buffer, 16, 16 + len(content), base=position - 16, checksum=False)
        found.append(tracker.follow(buffer, frames, base=position - 16))
        position += len(content)
    return found


def spans(events: list[bytes]) -> list[tuple[int, int | None]]:
    """Return (first event, last event or None) of each transaction."""
    (roles,) = roles_of(events)
    offsets = np.cumsum([0, *(len(event) for event in events)]).tolist()
    found: list[tuple[int, int | None]] = []
    for index in range(len(events)):
        if roles.starts[index]:
            assert roles.start[index] == offsets[index]
            found.append((index, None))
        if roles.start[index] >= 0:
            assert roles.start[index] == offsets[found[-1][0]]
        if roles.ends[index]:
            found[-1] = (found[-1][0], index)
    return found


def named(event_type: EventType, body: bytes = b"") -> bytes:
    return event_bytes(event_type, body)


def mariadb_gtid(flags: int) -> bytes:
    return named(EventType.MARIADB_GTID, struct.pack("<QIB", 1, 0, flags))


BEGIN, COMMIT, DDL = query("BEGIN"), query("COMMIT"), query("CREATE TABLE t (a INT)")
INSERT = query("INSERT INTO t VALUES (1)")
LAST, MORE = T.rows((1,)), T.rows((1,), end=False)
ROTATE, STOP = named(EventType.ROTATE, bytes(8) + b"b.2"), named(EventType.STOP)
INTVAR, USER_VAR = named(EventType.INTVAR, bytes(9)), named(EventType.USER_VAR, bytes(9))
PAYLOAD, PREPARE = (
    named(EventType.TRANSACTION_PAYLOAD, b"\0"),
    named(EventType.XA_PREPARE, bytes(13)),
)
INCIDENT, APPEND_BLOCK = (
    named(EventType.INCIDENT, bytes(3)),
    named(EventType.APPEND_BLOCK, bytes(5)),
)
BEGIN_LOAD = named(EventType.BEGIN_LOAD_QUERY, bytes(5))
EXECUTE_LOAD = named(EventType.EXECUTE_LOAD_QUERY, bytes(30))

CASES = {
    "gtid to xid": ([gtid(1), BEGIN, T.map(), LAST, xid()], [(0, 4)]),
    "two": ([gtid(1), BEGIN, xid(), gtid(2), BEGIN, COMMIT], [(0, 2), (3, 5)]),
    "rollback ends": ([gtid(1), BEGIN, LAST, query("ROLLBACK")], [(0, 3)]),
    "rollback to does not": (
        [gtid(1), BEGIN, query("SAVEPOINT a"), query("ROLLBACK TO `a`"), xid()],
        [(0, 4)],
    ),
    "a lone statement": ([gtid(1), DDL, gtid(2), DDL], [(0, 1), (2, 3)]),
    "a lone statement without gtid": ([DDL, DDL], [(0, 0), (1, 1)]),
    "begin without gtid": ([BEGIN, T.map(), LAST, MORE, LAST, xid(), DDL], [(0, 5), (6, 6)]),
    "create select": ([gtid(1), BEGIN, DDL, T.map(), LAST, xid()], [(0, 5)]),
    "what precedes a lone statement": (
        [INTVAR, USER_VAR, INSERT, INTVAR, INSERT],
        [(0, 2), (3, 4)],
    ),
    "rows without begin": ([T.map(), MORE, LAST, T.map(), LAST], [(0, 2), (3, 4)]),
    "rows without begin, version 1": (
        [T.map(), T.rows((1,), kind=V1, end=False), T.rows((1,), kind=V1), DDL],
        [(0, 2), (3, 3)],
    ),
    "a payload": ([gtid(1), PAYLOAD, gtid(2), DDL], [(0, 1), (2, 3)]),
    "xa": (
        [gtid(1), query("XA START X'1'"), LAST, query("XA END X'1'"), PREPARE,
         gtid(2), query("XA COMMIT X'1'")],
        [(0, 4), (5, 6)],
    ),
    "between transactions": ([named(EventType.PREVIOUS_GTIDS, bytes(8)), ROTATE, STOP], []),
    "inside one": ([gtid(1), BEGIN, ROTATE, LAST, xid(), STOP], [(0, 4)]),
    "mariadb's gtid is a begin": ([mariadb_gtid(0), T.map(), LAST, T.map(), LAST, xid()], [(0, 5)]),
    "unless standalone": ([mariadb_gtid(1), DDL, mariadb_gtid(0), LAST, COMMIT], [(0, 1), (2, 4)]),
    "a begin directly after it belongs to it": (
        [mariadb_gtid(0), BEGIN, T.map(), LAST, xid(), mariadb_gtid(0), ROTATE, BEGIN, xid()],
        [(0, 4), (5, 8)],
    ),
    "a later begin does not": (
        [mariadb_gtid(0), T.map(), LAST, BEGIN, xid(), mariadb_gtid(0), BEGIN, BEGIN, xid()],
        [(0, None), (3, 4), (5, None), (7, 8)],
    ),
    "never ended": ([gtid(1), BEGIN, LAST, gtid(2), BEGIN, xid()], [(0, None), (3, 5)]),
    "begin in a transaction": ([BEGIN, LAST, BEGIN, xid()], [(0, None), (2, 3)]),
    "an incident": ([gtid(1), INCIDENT, INCIDENT], [(0, 1), (2, 2)]),
    "load data": ([BEGIN_LOAD, APPEND_BLOCK, EXECUTE_LOAD], [(0, 2)]),
    "tagged gtid": ([named(EventType.GTID_TAGGED, b"x"), BEGIN, xid()], [(0, 2)]),
}  # fmt: skip


@pytest.mark.parametrize(("events", "expected"), CASES.values(), ids=CASES)
def test_transactions(events: list[bytes], expected: list[tuple[int, int | None]]) -> None:
    assert spans(events) == expected


def test_flags_of_rows_events_follow_a_table_id_of_any_size() -> None:
    """Before 5.1.4 a table id had four bytes."""
    lengths = bytearray(27)
    lengths[EventType.TABLE_MAP - 1 : EventType.DELETE_ROWS_V1] = b"\x06" * 7
    old = format_description("5.1.3", None, bytes(lengths))
    more, last = (named(V1, struct.pack("<IH", 3, end) + b"\x01\xff" + bytes(9)) for end in (0, 1))
    assert spans([old, last, more, last]) == [(1, 1), (2, 3)]


@pytest.mark.parametrize("window", [1, 2, 3])
def test_state_is_kept_across_windows(window: int) -> None:
    events = [event for case, _ in CASES.values() for event in case]
    (whole,) = roles_of(events, base=1000)
    parts = roles_of(events, window=window, base=1000)
    for name in ("start", "starts", "ends", "statement"):
        joined = np.concatenate([getattr(part, name) for part in parts])
        assert joined.tolist() == getattr(whole, name).tolist()


@pytest.mark.parametrize(
    ("text", "statement"),
    [
        ("BEGIN", Statement.BEGIN),
        ("begin", Statement.BEGIN),
        ("START TRANSACTION", Statement.BEGIN),
        ("COMMIT", Statement.COMMIT),
        ("COMMIT /* done */", Statement.COMMIT),
        ("COMMITTED", Statement.OTHER),
        ("ROLLBACK", Statement.ROLLBACK),
        ("ROLLBACK TO `s`", Statement.ROLLBACK_TO),
        ("rollback\tto s", Statement.ROLLBACK_TO),
        ("SAVEPOINT `s`", Statement.SAVEPOINT),
        ("XA START X'00',X'',1", Statement.XA_START),
        ("XA END X'00',X'',1", Statement.XA_END),
        ("XA COMMIT X'00',X'',1", Statement.XA_COMMIT),
        ("XA ROLLBACK X'00',X'',1", Statement.XA_ROLLBACK),
        ("BEGINNING", Statement.OTHER),
        ("", Statement.OTHER),
        ("B", Statement.OTHER),
        ("CREATE TABLE begin (a INT)", Statement.OTHER),
    ],
)
def test_statements_by_their_first_words(text: str, statement: Statement) -> None:
    (roles,) = roles_of([query(text, schema="a schema")])
    assert roles.statement.tolist() == [statement]


def test_a_truncated_query_is_not_transaction_control() -> None:
    (roles,) = roles_of([named(EventType.QUERY, bytes(5)), named(EventType.QUERY, b"\xff" * 13)])
    assert roles.statement.tolist() == [Statement.OTHER] * 2


def test_a_segment_may_start_inside_a_transaction() -> None:
    tracker = TransactionTracker()
    assert tracker.start is None
    tracker.continue_from(123)
    assert tracker.start == 123
    content = MORE + xid()
    buffer = np.frombuffer(bytearray(content), np.uint8)
    frames = frame(buffer, 0, len(content), base=500, checksum=False)
    roles = tracker.follow(buffer, frames, base=500)
    assert roles.start.tolist() == [123, 123]
    assert roles.ends.tolist() == [0, 1]
    assert tracker.start is None


def test_an_unreadable_event_opens_a_transaction() -> None:
    events = [
        event_bytes(EventType.QUERY, b"?" * 20, checksum=True),
        event_bytes(EventType.TABLE_MAP, T.map()[19:], checksum=True),
    ]
    events.append(event_bytes(EventType.WRITE_ROWS, LAST[19:], checksum=True))
    events.append(event_bytes(EventType.GTID, gtid(1)[19:], checksum=True))
    damaged = bytearray(b"".join(events))
    damaged[25] ^= 1
    buffer = np.zeros(16 + len(damaged) + 64, np.uint8)
    buffer[16 : 16 + len(damaged)] = np.frombuffer(damaged, np.uint8)
    frames = frame(buffer, 16, 16 + len(damaged), base=-16, checksum=True)
    roles = TransactionTracker().follow(buffer, frames, base=-16)
    assert frames.valid.tolist() == [0, 1, 1, 1]
    assert roles.start.tolist() == [0, 0, 0, int(frames.offset[3]) - 16]
