"""Segments to changes, transactions, statements and faults: what is yielded, and what is not."""

from __future__ import annotations

import os
import struct
import subprocess
import sys
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
import zstandard

import decoder
from decoder.constants import MAGIC, EventFlag, EventType
from decoder.errors import (
    BinlogError,
    ChecksumError,
    EncryptedError,
    NotABinlogError,
    TruncatedError,
    UnsupportedError,
)
from decoder.options import TypeOptions
from decoder.stream import (
    Changes,
    Definitions,
    Segment,
    SegmentDecoder,
    Statements,
    Transactions,
)
from tests.support.event_bytes import event_bytes, format_description, log_bytes, recorded
from tests.support.logs import (
    INT,
    UUID_TEXT,
    VARCHAR,
    Table,
    changed,
    decoded,
    faults,
    gtid,
    payload,
    query,
    split,
    transaction,
    transactions,
    with_checksums,
    xid,
)

CUP = Table(7, "cup", (INT, VARCHAR))
POT = Table(8, "pot", (INT,))
INSERT, UPDATE, DELETE = EventType.WRITE_ROWS, EventType.UPDATE_ROWS, EventType.DELETE_ROWS


def insert(table: Table, *rows: Any) -> bytes:
    return table.map() + table.rows(*rows)


# --- what is yielded -----------------------------------------------------------------------------


def test_inserts_updates_and_deletes_come_with_their_images() -> None:
    log = log_bytes(
        transaction(1, insert(CUP, (1, "a"), (2, None))),
        transaction(2, CUP.map(), CUP.rows((1, "a"), (1, "b"), kind=UPDATE)),
        transaction(3, CUP.map(), CUP.rows((2, None), kind=DELETE)),
    )
    assert changed(decoded(log)) == [
        ("cup", "insert", None, (1, "a")),
        ("cup", "insert", None, (2, None)),
        ("cup", "update", (1, "a"), (1, "b")),
        ("cup", "delete", (2, None), None),
    ]


def test_a_change_says_where_and_when_it_was_logged() -> None:
    log = log_bytes(transaction(41, insert(POT, (1,), (2,)), insert(POT, (3,))))
    rows = [row for c in decoder.read(log, file="mysql-bin.000012") for row in c.batch.to_pylist()]
    start = len(MAGIC) + len(format_description())
    first = start + len(gtid(1) + query("BEGIN") + POT.map())
    second = first + len(POT.rows((1,), (2,)) + POT.map())
    assert [(r["__pos"], r["__row"]) for r in rows] == [(first, 0), (first, 1), (second, 0)]
    assert {r["__lsn"] for r in rows} == {12 << 40 | start}
    assert {r["__gtid"] for r in rows} == {f"{UUID_TEXT}:41"}
    assert {r["__committed_at"].timestamp() for r in rows} == {1_700_000_000.123456}
    assert {(r["__file"], r["__server_id"]) for r in rows} == {("mysql-bin.000012", 1)}
    assert all(
        r[k] is None for r in rows for k in ("__absent_before", "__absent_after", "__json_diff")
    )


def test_without_a_commit_time_a_change_has_its_events_second_and_without_gtid_null() -> None:
    anonymous = query("BEGIN") + insert(POT, (1,)) + xid()
    named = gtid(3, committed=None) + anonymous
    rows = [row for c in decoder.read(log_bytes(anonymous, named)) for row in c.batch.to_pylist()]
    assert [r["__committed_at"].timestamp() for r in rows] == [1_700_000_000.0] * 2
    assert [r["__gtid"] for r in rows] == [None, f"{UUID_TEXT}:3"]


@pytest.mark.parametrize(
    ("insert_kind", "update_kind", "delete_kind"),
    [
        (EventType.WRITE_ROWS_V1, EventType.UPDATE_ROWS_V1, EventType.DELETE_ROWS_V1),
        (INSERT, UPDATE, DELETE),
    ],
)
def test_both_versions_of_rows_events(
    insert_kind: EventType, update_kind: EventType, delete_kind: EventType
) -> None:
    extra = {} if insert_kind < INSERT else {"extra": b"\0\3xyz"}
    log = log_bytes(
        transaction(
            1,
            CUP.map(),
            CUP.rows((1, "x"), kind=insert_kind, end=False, **extra),
            CUP.rows((1, "x"), (2, "y"), kind=update_kind, end=False, **extra),
            CUP.rows((2, "y"), kind=delete_kind, **extra),
        )
    )
    assert [op for _, op, *_ in changed(decoded(log))] == ["insert", "update", "delete"]


def test_a_table_id_may_be_mapped_to_another_table() -> None:
    other = Table(7, "pan", (INT,))
    log = log_bytes(
        transaction(1, insert(CUP, (1, "a"))),
        transaction(2, insert(other, (5,))),
        transaction(3, insert(CUP, (2, "b")), insert(other, (6,))),
    )
    assert changed(decoded(log)) == [
        ("cup", "insert", None, (1, "a")),
        ("pan", "insert", None, (5,)),
        ("cup", "insert", None, (2, "b")),
        ("pan", "insert", None, (6,)),
    ]


def test_a_statement_may_change_several_tables() -> None:
    rows = CUP.map() + POT.map() + POT.rows((1,), end=False) + CUP.rows((2, "b"))
    assert changed(decoded(log_bytes(transaction(1, rows)))) == [
        ("pot", "insert", None, (1,)),
        ("cup", "insert", None, (2, "b")),
    ]


def test_transactions_count_rows_by_table_and_know_their_ends() -> None:
    first = transaction(1, insert(CUP, (1, "a"), (2, "b")), insert(POT, (1,)))
    second = transaction(2, POT.map(), POT.rows((1,), (2,), kind=UPDATE))
    start = len(MAGIC) + len(format_description())
    one, two = transactions(decoded(log_bytes(first, second)))
    assert dict(one["rows"]) == {"shop.cup": 2, "shop.pot": 1}
    assert dict(two["rows"]) == {"shop.pot": 1}
    assert (one["start_pos"], one["end_pos"], one["bytes"]) == (
        start,
        start + len(first),
        len(first),
    )
    assert (one["xid"], one["gtid"]) == (1, f"{UUID_TEXT}:1")
    assert one["commit_lsn"] == one["__lsn"] == 1 << 40 | start
    assert one["rolled_back"] is None
    assert one["committed_at"] == one["original_committed_at"]


def test_a_rolled_back_transaction_is_marked_as_a_whole() -> None:
    log = log_bytes(gtid(1), query("BEGIN"), insert(CUP, (1, "a")), query("ROLLBACK"))
    (row,) = transactions(decoded(log))
    assert row["rolled_back"] == [{"start": row["start_pos"], "end": row["end_pos"]}]


def test_rollback_to_a_savepoint_marks_the_events_between() -> None:
    before = insert(CUP, (1, "a"))
    undone = insert(CUP, (2, "b"))
    events = [
        before,
        query("SAVEPOINT `s p`"),
        undone,
        query("SAVEPOINT `t p`"),
        query("ROLLBACK TO `s p`"),
        insert(CUP, (3, "c")),
    ]
    results = decoded(log_bytes(transaction(1, *events)))
    (row,) = transactions(results)
    start = row["start_pos"] + len(gtid(1) + query("BEGIN") + before + events[1])
    end = start + len(undone) + len(events[3])
    assert row["rolled_back"] == [{"start": start, "end": end}]
    assert len(changed(results)) == 3


def test_a_transaction_that_never_ended_is_rolled_back_by_the_next() -> None:
    log = log_bytes(
        gtid(1), query("BEGIN"), insert(CUP, (1, "a")), transaction(1, insert(CUP, (1, "a")))
    )
    torn, whole = transactions(decoded(log))
    assert torn["rolled_back"] == [{"start": torn["start_pos"], "end": whole["start_pos"]}]
    assert whole["rolled_back"] is None


def test_statements_come_with_their_session() -> None:
    results = decoded(recorded("statements"))
    (batch,) = [r.batch for r in results if isinstance(r, Statements)]
    create = next(row for row in batch.to_pylist() if row["query"].startswith("CREATE TABLE"))
    assert create["schema"] == "shop"
    assert create["charset"] == "utf8mb4"
    assert create["gtid"] is not None
    assert create["executed_at"] <= create["committed_at"]


def test_definitions_are_told_when_they_are_new_or_change_back() -> None:
    wide, narrow = Table(7, "cup", (INT, VARCHAR)), Table(9, "cup", (INT,))
    again = Table(11, "cup", (INT, VARCHAR))
    log = log_bytes(
        transaction(1, insert(wide, (1, "a"))),
        transaction(2, insert(wide, (2, "a"))),
        transaction(3, insert(narrow, (3,))),
        transaction(4, insert(again, (4, "a"))),
    )
    for rows in (True, False):
        found = [r for r in decoded(log, rows=rows) if isinstance(r, Definitions)]
        items = [item for result in found for item in result.items]
        assert [len(definition.columns) for _, _, definition in items] == [2, 1, 2]
        assert [lsn for lsn, _, _ in items] == sorted(lsn for lsn, _, _ in items)


def test_the_survey_walks_no_rows() -> None:
    results = decoded(recorded("plain"), rows=False)
    assert not [r for r in results if isinstance(r, Changes)]
    assert [r for r in results if isinstance(r, Statements)]
    assert all(row["rows"] is None for row in transactions(results))


def test_unwanted_tables_are_counted_but_not_decoded() -> None:
    log = log_bytes(transaction(1, insert(CUP, (1, "a"), (2, "b")), insert(POT, (1,))))
    results = decoded(log, wanted=lambda schema, table: table == "pot")
    assert changed(results) == [("pot", "insert", None, (1,))]
    assert dict(transactions(results)[0]["rows"]) == {"shop.cup": 2, "shop.pot": 1}


def test_what_is_not_decoded_of_an_unwanted_table_is_no_fault() -> None:
    partial = CUP.map() + CUP.rows(present=b"\x01")
    log = log_bytes(transaction(1, partial, insert(POT, (1,))))
    results = decoded(log, wanted=lambda schema, table: table == "pot")
    assert not faults(results)
    assert len(changed(results)) == 1


def test_many_rows_come_in_blocks_and_none_is_lost() -> None:
    events = [
        CUP.rows(*[(n, f"name {n}") for n in range(start, start + 700)])
        for start in range(0, 21_000, 700)
    ]
    results = decoded(log_bytes(transaction(1, CUP.map(), *events)))
    assert [after for *_, after in changed(results)] == [(n, f"name {n}") for n in range(21_000)]
    assert len([r for r in results if isinstance(r, Changes)]) > 2


# --- payloads ------------------------------------------------------------------------------------


def zstd(events: bytes, **kwargs: Any) -> bytes:
    return payload(events, compressed=zstandard.compress(events), **kwargs)


@pytest.mark.parametrize("pack", [payload, zstd])
def test_rows_in_a_payload_have_its_position_and_one_numbering(pack: Any) -> None:
    inner = query("BEGIN") + insert(CUP, (1, "a"), (2, "b")) + insert(POT, (3,)) + xid(77)
    log = log_bytes(gtid(5), pack(inner), transaction(6, insert(POT, (4,))))
    results = decoded(log)
    rows = [row for r in results if isinstance(r, Changes) for row in r.batch.to_pylist()]
    rows.sort(key=lambda row: (row["__lsn"], row["__row"]))
    position = len(MAGIC) + len(format_description()) + len(gtid(5))
    assert [(r["__pos"], r["__row"]) for r in rows[:3]] == [
        (position, 0),
        (position, 1),
        (position, 2),
    ]
    assert rows[3]["__row"] == 0
    first = transactions(results)[0]
    assert (first["xid"], dict(first["rows"])) == (77, {"shop.cup": 2, "shop.pot": 1})


def test_a_large_payload_comes_in_windows() -> None:
    many = [CUP.rows(*[(n, "x" * 200) for n in range(s, s + 500)]) for s in range(0, 60_000, 500)]
    inner = query("BEGIN") + CUP.map() + b"".join(many) + xid()
    assert len(inner) > 8 << 20
    results = decoded(log_bytes(gtid(1), zstd(inner), transaction(2, insert(POT, (1,)))))
    numbers = [
        row["__row"]
        for r in results
        if isinstance(r, Changes) and r.table == "cup"
        for row in r.batch.to_pylist()
    ]
    assert numbers == list(range(60_000))
    assert dict(transactions(results)[0]["rows"]) == {"shop.cup": 60_000}


def test_a_fault_at_the_end_of_a_large_payload_withholds_all_of_it() -> None:
    many = [CUP.rows(*[(n, "x" * 200) for n in range(s, s + 500)]) for s in range(0, 60_000, 500)]
    inner = query("BEGIN") + CUP.map() + b"".join(many) + POT.rows((1,)) + xid()
    results = decoded(log_bytes(gtid(1), zstd(inner), transaction(2, insert(POT, (1,)))))
    assert changed(results) == [("pot", "insert", None, (1,))]
    assert [fault["tables"] for fault in faults(results)] == [["shop.cup"]]


def test_one_event_larger_than_a_payloads_window() -> None:
    wide = Table(7, "cup", ("big varchar",) * 100)
    row = tuple("y" * 60_000 for _ in range(100))
    inner = query("BEGIN") + insert(wide, row) + xid()
    ((_, _, _, after),) = changed(decoded(log_bytes(gtid(1), zstd(inner))))
    assert after == row


@pytest.mark.parametrize(
    ("broken", "reason"),
    [
        (lambda inner: payload(inner, compressed=bytes(40)), "decompressed"),
        (lambda inner: payload(inner, compressed=zstandard.compress(inner)[:-9]), ""),
        (lambda inner: zstd(inner, size=len(inner) + 1), "not"),
        (lambda inner: zstd(inner[:-3], size=len(inner)), ""),
        (lambda inner: zstd(inner + bytes(30)), "not a sequence of events"),
        (lambda inner: zstd(inner, size=1 << 62), "not"),
        (lambda inner: zstd(inner[:9] + b"\xff\xff\xff\xff" + inner[13:]), "more than all"),
    ],
)
def test_a_broken_payload_is_a_fault_of_its_transaction_alone(broken: Any, reason: str) -> None:
    inner = query("BEGIN") + insert(CUP, (1, "a")) + xid()
    log = log_bytes(gtid(1), broken(inner), transaction(2, insert(POT, (1,))))
    results = decoded(log)
    (fault,) = faults(results)
    assert fault["kind"] == "undecodable"
    assert fault["tables"] is None
    assert reason in str(fault["reason"])
    assert changed(results) == [("pot", "insert", None, (1,))]


# --- faults --------------------------------------------------------------------------------------

OVERRUN = CUP.rows((1, "abc"))[:-1] + b""
OVERRUN = OVERRUN[:9] + struct.pack("<I", len(OVERRUN)) + OVERRUN[13:]


def ignorable(flags: int) -> bytes:
    return event_bytes(99, b"new", flags=flags)


@pytest.mark.parametrize(
    ("events", "kind", "event_type", "tables"),
    [
        ([CUP.map(), OVERRUN], "undecodable", "WRITE_ROWS", ["shop.cup"]),
        ([CUP.rows((1, "a"))], "undecodable", "WRITE_ROWS", []),
        ([CUP.map(), CUP.rows(present=b"\x01")], "unsupported", "WRITE_ROWS", ["shop.cup"]),
        (
            [CUP.map(), event_bytes(EventType.PARTIAL_UPDATE_ROWS, bytes(20))],
            "unsupported",
            "PARTIAL_UPDATE_ROWS",
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
            "unsupported",
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


def test_what_was_decoded_before_the_fault_goes_with_it() -> None:
    many = CUP.rows(*[(n, "x") for n in range(9000)])
    log = log_bytes(
        transaction(1, insert(CUP, (-1, None))),
        transaction(2, CUP.map(), many, insert(POT, (1,)), OVERRUN),
        transaction(3, insert(CUP, (-3, None))),
    )
    results = decoded(log)
    assert [after for *_, after in changed(results)] == [(-1, None), (-3, None)]
    assert faults(results)[0]["tables"] == ["shop.cup", "shop.pot"]


def test_nulls_of_a_row_that_overruns_do_not_stay_behind() -> None:
    broken = CUP.rows((1, "a"), (None, "abc"))[:-1]
    broken = broken[:9] + struct.pack("<I", len(broken)) + broken[13:]
    log = log_bytes(
        transaction(1, CUP.map(), broken), transaction(2, insert(CUP, (5, "b"), (6, "c")))
    )
    assert [after for *_, after in changed(decoded(log))] == [(5, "b"), (6, "c")]


def test_ignorable_events_are_passed_over() -> None:
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


def test_xa_transactions_are_a_fault_of_their_tables_only() -> None:
    prepare = event_bytes(EventType.XA_PREPARE, struct.pack("<BIII", 0, 1, 1, 1) + b"ab")
    log = log_bytes(
        gtid(1), query("XA START X'61',X'62',1"), insert(CUP, (1, "a")),
        query("XA END X'61',X'62',1"), prepare,
        gtid(2), query("XA COMMIT X'61',X'62',1"),
        transaction(3, insert(POT, (3,))),
    )  # fmt: skip
    results = decoded(log)
    (fault,) = faults(results)
    assert (fault["kind"], fault["tables"]) == ("unsupported", ["shop.cup"])
    assert [row["commit_lsn"] is None for row in transactions(results)] == [True, False, False]
    assert changed(results) == [("pot", "insert", None, (3,))]


@pytest.mark.parametrize("victim", ["gtid", "begin", "map", "rows", "xid"])
def test_one_flipped_bit_costs_its_transaction_only(victim: str) -> None:
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
        (b"\xfdbin" + bytes(600), EncryptedError),
        (recorded("plain")[:300], TruncatedError),
        (recorded("plain")[:60], TruncatedError),
        (MAGIC + bytes(100), BinlogError),
        (MAGIC + transaction(1, insert(POT, (1,))), BinlogError),
        (log_bytes(transaction(1, CUP.map(), OVERRUN)), BinlogError),
        (log_bytes(transaction(1, CUP.map(), CUP.rows(present=b"\1"))), UnsupportedError),
        (recorded("plain")[:400] + b"\0" + recorded("plain")[401:], ChecksumError),
    ],
)
def test_read_raises_and_a_segment_reports(data: bytes, error: type[BinlogError]) -> None:
    with pytest.raises(error) as caught:
        list(decoder.read(data, file="f.000001"))
    assert caught.value.file == "f.000001"
    assert caught.value.position is not None
    assert faults(decoded(data))


def test_read_gives_what_is_whole_before_the_fault() -> None:
    log = log_bytes(transaction(1, insert(POT, (1,))), transaction(2, CUP.map(), OVERRUN))
    found = decoder.read(log)
    assert next(found).table == "pot"
    with pytest.raises(BinlogError, match="WRITE_ROWS"):
        next(found)


def test_a_key_that_cannot_be_kept_exactly_is_a_lossy_key() -> None:
    # VARCHAR key in utf8mb4 with bytes that are none; metadata 8: the primary key is column 0.
    table = Table(7, "cup", (VARCHAR,))
    keyed = table.map() + b"\x08\x01\x00"
    keyed = keyed[:9] + struct.pack("<I", len(keyed)) + keyed[13:]
    bad = table.rows(("abc",)).replace(b"abc", b"a\xffc")
    log = log_bytes(transaction(1, keyed, table.rows(("ok",))), transaction(2, keyed, bad))
    results = decoded(log)
    (fault,) = faults(results)
    assert (fault["kind"], fault["tables"]) == ("lossy_key", ["shop.cup"])
    assert changed(results) == [("cup", "insert", None, ("ok",))]


# --- segments and parts --------------------------------------------------------------------------


def test_a_segment_inside_a_transaction_goes_on_with_its_preamble() -> None:
    head = gtid(9) + query("BEGIN") + CUP.map()
    parts = [CUP.rows((1, "a"), end=False), CUP.rows((2, "b")), insert(POT, (1,)) + xid(9)]
    start = len(MAGIC) + len(format_description())
    cut = start + len(head) + len(parts[0])
    segment = Segment("binlog.000003", 3, cut, start, format_description() + head)
    results = decoded(parts[1] + parts[2], segment)
    assert changed(results) == [("cup", "insert", None, (2, "b")), ("pot", "insert", None, (1,))]
    (row,) = transactions(results)
    assert (row["__lsn"], row["start_pos"]) == (3 << 40 | start, start)
    assert row["end_pos"] == cut + len(parts[1] + parts[2])
    assert row["bytes"] == len(parts[1] + parts[2])
    rows = [r for c in results if isinstance(c, Changes) for r in c.batch.to_pylist()]
    assert {r["__gtid"] for r in rows} == {f"{UUID_TEXT}:9"}
    assert min(r["__pos"] for r in rows) == cut


def test_the_part_without_the_end_has_no_end() -> None:
    log = log_bytes(gtid(9), query("BEGIN"), insert(CUP, (1, "a")))
    results = decoded(log)
    (row,) = transactions(results)
    assert (row["end_pos"], row["commit_lsn"]) == (None, None)
    assert len(changed(results)) == 1


@pytest.mark.parametrize("step", [1, 7, 1000])
@pytest.mark.parametrize("name", ["plain", "compressed", "full_metadata"])
def test_parts_of_any_size_give_the_same(name: str, step: int) -> None:
    log = recorded(name)
    unit = SegmentDecoder(Segment("binlog.000001", 1), TypeOptions())
    results = list(unit.decode(log[k : k + step] for k in range(0, len(log), step)))
    assert changed(results) == changed(decoded(log))


@pytest.mark.parametrize("make", [bytes, bytearray, memoryview, pa.py_buffer])
def test_read_takes_whatever_has_a_buffer(make: Any) -> None:
    log = recorded("plain")
    assert sum(c.batch.num_rows for c in decoder.read(make(log))) == 6


@pytest.fixture
def small_windows(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("decoder.feed.Feed.__init__.__defaults__", (1 << 12,))
    monkeypatch.setattr("decoder.holding.LIMIT", 1 << 14)


@pytest.mark.usefixtures("small_windows")
def test_windows_and_a_row_larger_than_one() -> None:
    wide = Table(9, "pan", ("big varchar",) * 3)
    events = [transaction(n, insert(CUP, *[(k, "name") for k in range(50)])) for n in range(1, 60)]
    events.append(transaction(60, insert(wide, ("x" * 50_000,) * 3)))
    events += [transaction(n, insert(POT, (n,))) for n in range(61, 200)]
    results = decoded(log_bytes(*events))
    assert len(changed(results)) == 59 * 50 + 1 + 139
    assert len(transactions(results)) == 199
    assert len([r for r in results if isinstance(r, Transactions)]) > 5


LARGE = [CUP.map(), *(CUP.rows(*[(k + n, "name") for k in range(50)]) for n in range(0, 9000, 50))]


@pytest.mark.usefixtures("small_windows")
def test_a_transaction_too_large_to_hold_comes_whole() -> None:
    log = log_bytes(
        transaction(1, insert(POT, (1,))), transaction(2, *LARGE), transaction(3, insert(POT, (3,)))
    )
    results = decoded(log)
    assert [after[0] for *_, after in changed(results)] == [1, *range(9000), 3]
    assert dict(transactions(results)[1]["rows"]) == {"shop.cup": 9000}
    assert len([r for r in results if isinstance(r, Definitions)]) <= 2


@pytest.mark.usefixtures("small_windows")
def test_a_transaction_too_large_to_hold_is_withheld_for_a_fault_at_its_end() -> None:
    log = log_bytes(
        transaction(1, insert(POT, (1,))),
        transaction(2, *LARGE, CUP.map(), OVERRUN),
        transaction(3, insert(POT, (3,))),
    )
    results = decoded(log)
    assert [after for *_, after in changed(results)] == [(1,), (3,)]
    assert [fault["tables"] for fault in faults(results)] == [["shop.cup"]]


@pytest.mark.usefixtures("small_windows")
@pytest.mark.parametrize("ends", [True, False])
def test_the_second_part_of_a_transaction_too_large_to_hold(ends: bool) -> None:
    head = format_description() + gtid(9) + query("BEGIN") + CUP.map()
    content = b"".join(LARGE[1:]) + (xid() + transaction(10, insert(POT, (1,))) if ends else b"")
    results = decoded(content, Segment("binlog.000003", 3, 50_000, 127, head))
    numbers = [after[0] for *_, after in changed(results)]
    assert numbers == [*range(9000), *([1] if ends else [])]
    rows = [r for c in results if isinstance(c, Changes) for r in c.batch.to_pylist()]
    assert {r["__lsn"] for r in rows if r["__gtid"] == f"{UUID_TEXT}:9"} == {3 << 40 | 127}


# --- other modes ---------------------------------------------------------------------------------

DIGEST = """
import sys, hashlib, decoder
digest = hashlib.sha256()
for name in sys.argv[1:]:
    for changes in decoder.read(open(name, "rb").read()):
        digest.update(repr(changes.batch.to_pylist()).encode())
print(digest.hexdigest())
"""


@pytest.mark.parametrize("variable", [{"NUMBA_DISABLE_JIT": "1"}, {"NUMBA_BOUNDSCHECK": "1"}])
def test_interpreted_and_checked_kernels_give_the_same(variable: dict[str, str]) -> None:
    data = Path(__file__).parent.parent.parent / "data"
    files = [str(data / f"{name}.binlog") for name in ("full_metadata", "plain", "compressed")]

    def run(environment: dict[str, str]) -> str:
        return subprocess.run(
            [sys.executable, "-c", DIGEST, *files],
            env={**os.environ, **environment},
            cwd=data.parent.parent,
            capture_output=True,
            text=True,
            check=True,
        ).stdout

    assert run(variable) == run({})
