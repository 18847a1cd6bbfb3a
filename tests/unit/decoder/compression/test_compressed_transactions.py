"""Compressed transactions: the changes in their payloads, and the faults of invalid ones."""

from __future__ import annotations

from typing import Any

import pytest
import zstandard

from decoder.constants import MAGIC
from decoder.model.results import Changes
from tests.support.decoder.event_bytes import format_description, log_bytes
from tests.support.decoder.logs import (
    CUP,
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
    transactions,
    xid,
)


def zstd(events: bytes, **kwargs: Any) -> bytes:
    return payload(events, compressed=zstandard.compress(events), **kwargs)


@pytest.mark.parametrize("pack", [payload, zstd])
def test_rows_in_a_payload_share_its_position_and_are_numbered_together(pack: Any) -> None:
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


def test_a_large_payload_is_decoded_in_windows() -> None:
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


def test_an_inner_event_larger_than_a_window_is_decoded() -> None:
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
        (
            lambda inner: zstd(inner[:9] + b"\xff\xff\xff\xff" + inner[13:]),
            "more than the announced",
        ),
    ],
)
def test_an_invalid_payload_is_a_fault_of_its_transaction_only(broken: Any, reason: str) -> None:
    inner = query("BEGIN") + insert(CUP, (1, "a")) + xid()
    log = log_bytes(gtid(1), broken(inner), transaction(2, insert(POT, (1,))))
    results = decoded(log)
    (fault,) = faults(results)
    assert fault["kind"] == "undecodable"
    assert fault["tables"] is None
    assert reason in str(fault["reason"])
    assert changed(results) == [("pot", "insert", None, (1,))]
