"""The head of a file: the GTIDs before it, and its first transactions."""

from __future__ import annotations

import struct
from typing import Any

import pytest

from decoder import Framer
from decoder.constants import EventType as T
from decoder.segments.log_header import FirstTransactions, read_description, read_head
from decoder.segments.statistics import EventStatistics
from tests.support.decoder.event_bytes import event_bytes, format_description, log_bytes, recorded
from tests.support.decoder.logs import UUID_TEXT, gtid, query, xid

MARIADB = format_description("10.11.6-MariaDB-log")
LIST = event_bytes(
    T.MARIADB_GTID_LIST, struct.pack("<I", 2) + struct.pack("<IIQIIQ", 0, 1, 5, 3, 2, 1 << 33)
)
CHECKPOINT = event_bytes(T.MARIADB_BINLOG_CHECKPOINT, struct.pack("<I", 1) + b"b")
ROTATE = event_bytes(T.ROTATE, struct.pack("<Q", 4) + b"b.000002")
TIME = 1_700_000_000_123_456
_COPIED_AT = TIME | 1 << 55
COPIED = event_bytes(
    T.GTID,
    *[gtid(5, committed=_COPIED_AT)[19:] + (1_600_000_000_000_000).to_bytes(7, "little")],
)


def mariadb_gtid(number: int, domain: int = 0) -> bytes:
    return event_bytes(T.MARIADB_GTID, struct.pack("<QIB", number, domain, 0).ljust(19, b"\0"))


@pytest.mark.parametrize(
    ("log", "previous", "first"),
    [
        ([MARIADB, LIST, CHECKPOINT, mariadb_gtid(7)], "0-1-5,3-2-8589934592", ("0-1-7", False)),
        ([MARIADB, LIST, CHECKPOINT], "0-1-5,3-2-8589934592", None),
        ([MARIADB, LIST, query("BEGIN"), mariadb_gtid(7)], "0-1-5,3-2-8589934592", (None, False)),
        ([MARIADB, query("BEGIN")], None, (None, False)),
        # incomplete
        ([MARIADB, LIST[:-1]], None, None),
        ([MARIADB, LIST, mariadb_gtid(7)[:-1]], "0-1-5,3-2-8589934592", None),
        # damaged, which bronze reports
        ([MARIADB, LIST, event_bytes(T.MARIADB_GTID, b"short")], "0-1-5,3-2-8589934592", None),
        ([format_description("5.6.51"), gtid(4, committed=None)], None, (f"{UUID_TEXT}:4", False)),
        ([format_description(), gtid(4), xid(), gtid(5)], None, (f"{UUID_TEXT}:4", False, TIME)),
        ([format_description(), gtid(4), xid(), COPIED], None, (f"{UUID_TEXT}:4", True, TIME)),
        ([format_description(), ROTATE], None, None),
    ],
)
def test_the_head_contains_previous_gtids_and_first_transactions(
    log: list[bytes], previous: str | None, first: tuple[Any, ...] | None
) -> None:
    description, *events = log
    head = read_head(log_bytes(*events, description=description))
    assert head.previous_gtids == previous
    assert head.first == (None if first is None else FirstTransactions(*first))


@pytest.mark.parametrize(("name", "named"), [("plain", True), ("tagged", True), ("no_gtid", False)])
def test_the_first_transaction_of_a_recording(name: str, *, named: bool) -> None:
    first = read_head(recorded(name)).first
    assert first is not None
    assert (first.gtid is not None) is named
    assert not first.copied


def test_statistics_keep_mariadbs_last_number_of_every_domain_and_server() -> None:
    events = [mariadb_gtid(7), query("BEGIN"), xid(), mariadb_gtid(3, 1 << 31), mariadb_gtid(9)]
    log = log_bytes(LIST, *events, query("BEGIN"), xid(), description=MARIADB)
    tally = EventStatistics()
    tally.add(Framer(verify=False).feed(log), read_description(log))
    assert tally.gtid_text == "0-1-9,2147483648-1-3"
