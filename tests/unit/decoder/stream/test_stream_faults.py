"""Faults: each quarantines its whole transaction and nothing else."""

from __future__ import annotations

import struct

import pytest

import decoder
from decoder import BinlogError
from decoder.constants import MAGIC, EventFlag, EventType
from decoder.errors import (
    ChecksumError,
    EncryptedError,
    NotABinlogError,
    TruncatedError,
    UnsupportedError,
)
from tests.support.decoder import encrypted_log
from tests.support.decoder.event_bytes import event_bytes, format_description, log_bytes, recorded
from tests.support.decoder.logs import (
    CUP,
    INT,
    OVERRUN,
    POT,
    VARCHAR,
    Table,
    changed,
    decoded,
    faults,
    gtid,
    insert,
    query,
    split,
    transaction,
    transactions,
    with_checksums,
    xid,
)


def ignorable(flags: int) -> bytes:
    return event_bytes(99, b"new", flags=flags)


@pytest.mark.parametrize(
    ("events", "kind", "event_type", "tables"),
    [
        ([CUP.map(), OVERRUN], "undecodable", "WRITE_ROWS", ["shop.cup"]),
        ([CUP.rows((1, "a"))], "undecodable", "WRITE_ROWS", []),
        (
            [CUP.map(), event_bytes(EventType.PARTIAL_UPDATE_ROWS, bytes(20))],
            "undecodable",
            "PARTIAL_UPDATE_ROWS",
            ["shop.cup"],
        ),
        (
            [CUP.map(), event_bytes(EventType.WRITE_ROWS, CUP.rows(present=b"\0")[19:] + b"x")],
            "unsupported",
            "WRITE_ROWS",
            ["shop.cup"],
        ),
        (
            [CUP.map(), Table(7, "cup", (INT,)).rows((1,))],
            "undecodable",
            "WRITE_ROWS",
            ["shop.cup"],
        ),
        ([event_bytes(EventType.WRITE_ROWS, bytes(9))], "undecodable", "WRITE_ROWS", []),
        ([event_bytes(EventType.TABLE_MAP, bytes(3))], "undecodable", "TABLE_MAP", None),
        ([event_bytes(EventType.TABLE_MAP, bytes(8) + b"\xff")], "undecodable", "TABLE_MAP", None),
        ([query("INSERT INTO cup VALUES (1)")], "statement", "QUERY", None),
        ([query("/* app */ (update cup set a = 1)")], "statement", "QUERY", None),
        ([query("call fill()")], "statement", "QUERY", None),
        ([query("MYSTERY")], "statement", "QUERY", None),
        ([ignorable(0)], "unsupported", "UNKNOWN_99", None),
        ([event_bytes(EventType.INCIDENT, struct.pack("<HB", 1, 0))], "incident", "INCIDENT", None),
        (
            [event_bytes(EventType.MARIADB_QUERY_COMPRESSED, bytes(20))],
            "undecodable",
            "MARIADB_QUERY_COMPRESSED",
            None,
        ),
        ([query("SAVEPOINT a"), query("ROLLBACK TO b")], "unsupported", "QUERY", []),
    ],
)
def test_a_fault_quarantines_its_transaction_and_no_other(
    events: list[bytes], kind: str, event_type: str, tables: list[str] | None
) -> None:
    log = log_bytes(
        transaction(1, insert(POT, (1,))),
        transaction(2, *events),
        transaction(3, insert(POT, (3,))),
    )
    results = decoded(log)
    (fault,) = faults(results)
    assert (fault["kind"], fault["event_type"], fault["tables"]) == (kind, event_type, tables)
    assert fault["__lsn"] == transactions(results)[1]["__lsn"]
    assert fault["content"]
    assert [after for *_, after in changed(results)] == [(1,), (3,)]


def test_changes_before_the_fault_are_dropped_with_their_transaction() -> None:
    many = CUP.rows(*[(n, "x") for n in range(9000)])
    log = log_bytes(
        transaction(1, insert(CUP, (-1, None))),
        transaction(2, CUP.map(), many, insert(POT, (1,)), OVERRUN),
        transaction(3, insert(CUP, (-3, None))),
    )
    results = decoded(log)
    assert [after for *_, after in changed(results)] == [(-1, None), (-3, None)]
    assert faults(results)[0]["tables"] == ["shop.cup", "shop.pot"]


def test_nulls_of_an_overrun_row_are_cleared() -> None:
    broken = CUP.rows((None, None), (None, "x"), (1, "a"), (None, "abc"))[:-1]
    broken = broken[:9] + struct.pack("<I", len(broken)) + broken[13:]
    log = log_bytes(
        transaction(1, CUP.map(), broken),
        transaction(2, insert(CUP, (5, "b"), (6, "c"), (7, "d"), (8, "e"))),
    )
    sound = [(5, "b"), (6, "c"), (7, "d"), (8, "e")]
    assert [after for *_, after in changed(decoded(log))] == sound


def test_ignorable_events_are_skipped() -> None:
    passed = [
        ignorable(EventFlag.IGNORABLE),
        event_bytes(EventType.ROWS_QUERY, b"\5text."),
        event_bytes(EventType.HEARTBEAT, b"binlog.1"),
        event_bytes(EventType.IGNORABLE, b""),
    ]
    log = log_bytes(transaction(1, *passed, insert(POT, (1,))), event_bytes(EventType.STOP, b""))
    results = decoded(log)
    assert not faults(results)
    assert len(changed(results)) == 1


def test_rows_of_a_transaction_with_dml_statements_are_decoded() -> None:
    texts = ["INSERT INTO cup VALUES (1)", "UPDATE pot SET a = 1"]
    log = log_bytes(
        transaction(1, insert(POT, (1,)), *map(query, texts), insert(CUP, (2, "b"))),
        transaction(2, insert(POT, (3,))),
    )
    results = decoded(log)
    assert [after for *_, after in changed(results)] == [(1,), (2, "b"), (3,)]
    found = faults(results)
    assert [fault["kind"] for fault in found] == ["statement", "statement"]
    assert {fault["__lsn"] for fault in found} == {transactions(results)[0]["__lsn"]}
    assert all(text in str(fault["reason"]) for text, fault in zip(texts, found, strict=True))


@pytest.mark.parametrize("victim", ["gtid", "begin", "map", "rows", "xid"])
def test_a_flipped_bit_affects_its_transaction_only(victim: str) -> None:
    parts = {
        "gtid": gtid(2),
        "begin": query("BEGIN"),
        "map": POT.map(),
        "rows": POT.rows((2,)),
        "xid": xid(),
    }
    before, after = transaction(1, insert(POT, (1,))), transaction(3, insert(POT, (3,)))
    log = with_checksums(before, *parts.values(), after)
    names = [*(" " * len(split(before))), *parts]
    at = len(MAGIC) + len(format_description(algorithm=1))
    at += sum(len(event) + 4 for event in split(before, *parts.values())[: names.index(victim)])
    damaged = bytearray(log)
    damaged[at + 25] ^= 4
    results = decoded(bytes(damaged))
    assert [after for *_, after in changed(results)] == [(1,), (3,)]
    (fault,) = faults(results)
    assert fault["__pos"] == at
    assert fault["tables"] == (["shop.pot"] if victim == "rows" else None)


def test_a_wrong_size_loses_the_rest_of_the_segment() -> None:
    first = transaction(1, insert(POT, (1,)))
    log = bytearray(with_checksums(first, transaction(2, insert(POT, (2,)))))
    at = len(with_checksums(first))
    log[at + 9] += 3
    results = decoded(bytes(log))
    (fault,) = faults(results)
    assert (fault["__pos"], fault["tables"], fault["kind"]) == (at, None, "undecodable")
    assert changed(results) == [("pot", "insert", None, (1,))]


@pytest.mark.parametrize(
    ("data", "error"),
    [
        (b"", NotABinlogError),
        (b"PAR1", NotABinlogError),
        (encrypted_log.LOG, EncryptedError),
        (b"\xfdbin" + bytes(600), UnsupportedError),
        (recorded("plain")[:300], TruncatedError),
        (recorded("plain")[:60], TruncatedError),
        (MAGIC + bytes(100), BinlogError),
        (MAGIC + transaction(1, insert(POT, (1,))), BinlogError),
        (log_bytes(transaction(1, CUP.map(), OVERRUN)), BinlogError),
        (log_bytes(gtid(1), query("BEGIN"), query("ROLLBACK TO a")), UnsupportedError),
        (recorded("plain")[:400] + b"\0" + recorded("plain")[401:], ChecksumError),
    ],
)
def test_read_raises_and_a_segment_reports(data: bytes, error: type[BinlogError]) -> None:
    with pytest.raises(error) as caught:
        list(decoder.read(data, file="f.000001"))
    assert caught.value.file == "f.000001"
    assert caught.value.position is not None
    assert faults(decoded(data))


def test_read_yields_the_complete_transactions_before_the_fault() -> None:
    log = log_bytes(transaction(1, insert(POT, (1,))), transaction(2, CUP.map(), OVERRUN))
    found = decoder.read(log)
    assert next(found).table == "pot"
    with pytest.raises(BinlogError, match="WRITE_ROWS"):
        next(found)


def test_a_key_that_cannot_be_kept_exactly_is_a_lossy_key() -> None:
    # VARCHAR key in utf8mb4 with invalid bytes; metadata 8: the primary key is column 0.
    table = Table(7, "cup", (VARCHAR,))
    keyed = table.map() + b"\x08\x01\x00"
    keyed = keyed[:9] + struct.pack("<I", len(keyed)) + keyed[13:]
    bad = table.rows(("abc",)).replace(b"abc", b"a\xffc")
    others = [
        insert(Table(8, "ale", (VARCHAR,)), ("a",)),
        insert(Table(9, "zinc", (VARCHAR,)), ("z",)),
    ]
    log = log_bytes(
        transaction(1, keyed, table.rows(("ok",))),
        transaction(2, others[0], keyed, bad, others[1]),
    )
    results = decoded(log)
    (fault,) = faults(results)
    # The table with the fault comes first, before those that wait for it.
    assert (fault["kind"], fault["tables"]) == ("lossy_key", ["shop.cup", "shop.ale", "shop.zinc"])
    assert fault["reason"] == (
        "shop.cup: column c1: a value of the key cannot be represented exactly"
        " (a zero or impossible date, or bytes invalid in their charset)"
    )
    assert changed(results) == [("cup", "insert", None, ("ok",))]
