"""XA transactions: prepared ones wait for a COMMIT or ROLLBACK with the same name."""

from __future__ import annotations

import struct

import pytest

from decoder.constants import EventType
from decoder.errors import UnsupportedError
from decoder.transactions.boundaries import Statement
from decoder.transactions.xa import Xa, decided
from tests.support.decoder.event_bytes import event_bytes, log_bytes
from tests.support.decoder.logs import (
    CUP,
    POT,
    changed,
    decoded,
    faults,
    gtid,
    insert,
    payload,
    query,
    transaction,
    transactions,
)

NAME = "X'61',X'62',7"


def prepare(*, one_phase: bool = False) -> bytes:
    head = struct.pack("<BIII", one_phase, 7, 1, 1)
    return event_bytes(EventType.XA_PREPARE, head + b"ab")


def group(*events: bytes, one_phase: bool = False) -> bytes:
    begin, end = query(f"XA START {NAME}"), query(f"XA END {NAME}")
    return b"".join([begin, *events, end, prepare(one_phase=one_phase)])


def test_a_prepared_transaction_is_decoded_and_waits_for_its_commit() -> None:
    log = log_bytes(
        gtid(1) + group(insert(CUP, (1, "a"))),
        transaction(2, insert(POT, (3,))),
        gtid(3) + query(f"XA COMMIT {NAME}"),
    )
    results = decoded(log)
    rows = transactions(results)
    assert not faults(results)
    assert [(row["xa"], row["xa_end"]) for row in rows] == [
        ("7:61:62", "prepare"),
        (None, None),
        ("7:61:62", "commit"),
    ]
    assert [row["commit_lsn"] is None for row in rows] == [True, False, False]
    assert [table for table, *_ in changed(results)] == ["cup", "pot"]


@pytest.mark.parametrize("packed", [False, True])
def test_one_phase_is_a_commit(packed: bool) -> None:
    events = group(insert(CUP, (1, "a")), one_phase=True)
    (row,) = transactions(decoded(log_bytes(gtid(1), payload(events) if packed else events)))
    assert (row["xa_end"], row["commit_lsn"]) == ("one_phase", row["__lsn"])


def test_a_prepared_transaction_may_be_compressed() -> None:
    results = decoded(log_bytes(gtid(1), payload(group(insert(CUP, (1, "a"))))))
    (row,) = transactions(results)
    assert (row["xa"], row["xa_end"], row["commit_lsn"]) == ("7:61:62", "prepare", None)
    assert len(changed(results)) == 1


def test_a_group_that_ends_with_its_rollback_is_rolled_back() -> None:
    log = log_bytes(
        gtid(1), query(f"XA START {NAME}"), insert(CUP, (1, "a")), query(f"XA ROLLBACK {NAME}")
    )
    (row,) = transactions(decoded(log))
    assert row["rolled_back"] == [{"start": row["start_pos"], "end": row["end_pos"]}]
    assert row["xa_end"] == "rollback"


def test_a_prepared_transaction_with_a_fault_holds_its_tables() -> None:
    broken = CUP.map() + event_bytes(EventType.WRITE_ROWS, CUP.rows((1, "a"))[19:-1])
    results = decoded(log_bytes(gtid(1), group(broken), transaction(2, insert(POT, (1,)))))
    (fault,) = faults(results)
    assert fault["tables"] == ["shop.cup"]
    assert [table for table, *_ in changed(results)] == ["pot"]


@pytest.mark.parametrize(
    ("text", "statement", "expected"),
    [
        ("XA COMMIT X'61',X'62',7", Statement.XA_COMMIT, Xa("7:61:62", "commit")),
        ("XA ROLLBACK X'61',X'',1", Statement.XA_ROLLBACK, Xa("1:61:", "rollback")),
        ("xa commit 'a'", Statement.XA_COMMIT, Xa("1:61:", "commit")),
        ("XA  COMMIT\n0x61 , 'b' ;", Statement.XA_COMMIT, Xa("1:61:62", "commit")),
        ("XA COMMIT X'61',X'62',7 ONE PHASE", Statement.XA_COMMIT, Xa("7:61:62", "commit")),
        ("XA COMMIT X'',X'',4294967295", Statement.XA_COMMIT, Xa("4294967295::", "commit")),
    ],
)
def test_names_do_not_depend_on_their_notation(text: str, statement: int, expected: Xa) -> None:
    assert decided(text, statement) == expected


@pytest.mark.parametrize("text", ["XA COMMIT", "XA COMMIT a", "XA COMMIT X'6", "XA COMMIT 'a' 'b'"])
def test_a_name_that_cannot_be_read_is_a_fault(text: str) -> None:
    with pytest.raises(UnsupportedError, match="cannot be read"):
        decided(text, Statement.XA_COMMIT)
    (fault,) = faults(decoded(log_bytes(gtid(1), query(text))))
    assert fault["tables"] is None
