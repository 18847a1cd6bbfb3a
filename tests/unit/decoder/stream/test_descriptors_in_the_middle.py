"""Descriptor events in the middle of a log: only a FORMAT_DESCRIPTION changes the layout."""

from __future__ import annotations

import struct

import pytest

import decoder
from decoder import BinlogError, Framer
from decoder.constants import EventFlag, EventType
from decoder.errors import UnsupportedError
from decoder.model.results import Changes, Statements
from decoder.stream.open_transaction import LIMIT
from tests.support.decoder.event_bytes import MAGIC, event_bytes, format_description, log_bytes
from tests.support.decoder.logs import (
    CUP,
    LONGTEXT,
    POT,
    Table,
    changed,
    decoded,
    faults,
    gtid,
    insert,
    payload,
    query,
    transaction,
    with_checksums,
    xid,
)

START = event_bytes(EventType.START_V3, struct.pack("<H50sI", 3, b"4.1.22-log", 0))
WIDE = Table(4, "wide", (LONGTEXT,))
ROW = ("x" * 3_000_000,)


def test_a_start_v3_changes_nothing_in_a_log_of_version_4() -> None:
    log = log_bytes(transaction(1, insert(POT, (1,))), START, query("CREATE TABLE b (x INT)"))
    results = decoded(log)
    (fault,) = faults(results)
    assert (fault["event_type"], fault["tables"]) == ("START_V3", None)
    (statement,) = (
        row for r in results if isinstance(r, Statements) for row in r.batch.to_pylist()
    )
    assert (statement["query"], statement["schema"]) == ("CREATE TABLE b (x INT)", "shop")
    with pytest.raises(BinlogError):
        list(decoder.read(log))
    framer = Framer()
    assert len(list(framer.feed(log))) == 1
    assert framer.fault is None


def test_a_start_v3_in_a_payload_changes_nothing() -> None:
    inner = query("BEGIN") + START + insert(POT, (1,)) + xid()
    log = log_bytes(gtid(1), payload(inner), query("CREATE TABLE b (x INT)"))
    results = decoded(log)
    (fault,) = faults(results)
    assert fault["event_type"] == "TRANSACTION_PAYLOAD"
    (statement,) = (
        row for r in results if isinstance(r, Statements) for row in r.batch.to_pylist()
    )
    assert statement["query"] == "CREATE TABLE b (x INT)"


def test_a_large_transaction_is_replayed_with_the_description_at_its_start() -> None:
    """As in a relay log, whose second description may enable checksums inside a transaction."""
    count = LIMIT // len(ROW[0])
    rows = [WIDE.rows(ROW, end=False) for _ in range(count)]
    begun = b"".join([gtid(1), query("BEGIN"), WIDE.map(), *rows])
    rest = with_checksums(*rows, xid())[len(MAGIC) :]
    results = decoded(log_bytes(begun, rest))
    assert not faults(results)
    assert sum(r.batch.num_rows for r in results if isinstance(r, Changes)) == 2 * count
    assert rest.startswith(format_description(algorithm=1))


def test_rows_after_a_description_without_rows_events_have_the_usual_layout() -> None:
    """As in a relay log of an upgraded source, whose table ids had four bytes before."""
    lengths = bytes([56, 13]) + bytes(16)
    earlier = format_description("5.1.3", None, lengths + b"\x06" * 7)
    later = format_description("5.1.50", None, lengths)
    rows = POT.map() + POT.rows((1,), kind=EventType.WRITE_ROWS_V1)
    log = log_bytes(later, query("BEGIN"), rows, xid(), description=earlier)
    results = decoded(log)
    assert not faults(results)
    assert changed(results) == [("pot", "insert", None, (1,))]


@pytest.mark.parametrize("kind", [EventType.WRITE_ROWS, EventType.DELETE_ROWS])
def test_images_without_columns_are_a_fault_even_if_empty(kind: EventType) -> None:
    event = event_bytes(kind, CUP.rows(kind=kind, present=b"\0")[19:])
    results = decoded(log_bytes(transaction(1, CUP.map(), event)))
    (fault,) = faults(results)
    assert fault["tables"] == ["shop.cup"]


def test_an_unknown_event_is_yielded_and_then_refused_unless_ignorable() -> None:
    may = log_bytes(event_bytes(99, b"new", flags=EventFlag.IGNORABLE), query("BEGIN"))
    assert [event.name for event in decoder.events(may)][1:] == ["UNKNOWN_99", "QUERY"]
    must = log_bytes(event_bytes(99, b"new"), query("BEGIN"))
    shown = []
    with pytest.raises(UnsupportedError, match="not flagged as ignorable"):
        shown.extend(event.name for event in decoder.events(must))
    assert shown[-1] == "UNKNOWN_99"
    assert "not flagged as ignorable" in str(faults(decoded(must))[0]["reason"])
