"""Results of decoding a segment: changes, transactions, statements, definitions."""

from __future__ import annotations

import hashlib
import os
import subprocess
import sys
from pathlib import Path

import pytest

import decoder
from decoder.constants import MAGIC, EventType
from decoder.model.results import Changes, Definitions, Statements
from tests.support.decoder.event_bytes import format_description, log_bytes, recorded
from tests.support.decoder.logs import (
    CUP,
    INT,
    POT,
    UUID_TEXT,
    VARCHAR,
    Table,
    changed,
    decoded,
    faults,
    gtid,
    insert,
    query,
    transaction,
    transactions,
    xid,
)

INSERT, UPDATE, DELETE = EventType.WRITE_ROWS, EventType.UPDATE_ROWS, EventType.DELETE_ROWS


def test_inserts_updates_and_deletes_have_their_images() -> None:
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


def test_a_change_has_the_place_and_time_of_its_event() -> None:
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


def test_without_a_commit_time_a_change_has_its_events_timestamp() -> None:
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


def test_transactions_have_row_counts_by_table_and_ends() -> None:
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


def test_a_rolled_back_transaction_is_one_rolled_back_span() -> None:
    log = log_bytes(gtid(1), query("BEGIN"), insert(CUP, (1, "a")), query("ROLLBACK"))
    (row,) = transactions(decoded(log))
    assert row["rolled_back"] == [{"start": row["start_pos"], "end": row["end_pos"]}]


def test_rollback_to_a_savepoint_rolls_back_the_events_between() -> None:
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


def test_a_transaction_that_never_ended_is_rolled_back() -> None:
    log = log_bytes(
        gtid(1), query("BEGIN"), insert(CUP, (1, "a")), transaction(1, insert(CUP, (1, "a")))
    )
    torn, whole = transactions(decoded(log))
    assert torn["rolled_back"] == [{"start": torn["start_pos"], "end": whole["start_pos"]}]
    assert whole["rolled_back"] is None


def test_statements_have_their_session() -> None:
    results = decoded(recorded("statements"))
    (batch,) = [r.batch for r in results if isinstance(r, Statements)]
    create = next(row for row in batch.to_pylist() if row["query"].startswith("CREATE TABLE"))
    assert create["schema"] == "shop"
    assert create["charset"] == "utf8mb4"
    assert create["gtid"] is not None
    assert create["executed_at"] <= create["committed_at"]


def test_definitions_are_yielded_when_they_change() -> None:
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


def test_rows_are_not_decoded_for_the_survey() -> None:
    results = decoded(recorded("plain"), rows=False)
    assert not [r for r in results if isinstance(r, Changes)]
    assert [r for r in results if isinstance(r, Statements)]
    assert all(row["rows"] is None for row in transactions(results))


def test_unwanted_tables_are_counted_but_not_decoded() -> None:
    log = log_bytes(transaction(1, insert(CUP, (1, "a"), (2, "b")), insert(POT, (1,))))
    results = decoded(log, wanted=lambda schema, table: table == "pot")
    assert changed(results) == [("pot", "insert", None, (1,))]
    assert dict(transactions(results)[0]["rows"]) == {"shop.cup": 2, "shop.pot": 1}


def test_unsupported_rows_of_an_unwanted_table_are_not_a_fault() -> None:
    partial = CUP.map() + CUP.rows(present=b"\x01")
    log = log_bytes(transaction(1, partial, insert(POT, (1,))))
    results = decoded(log, wanted=lambda schema, table: table == "pot")
    assert not faults(results)
    assert len(changed(results)) == 1


def test_many_rows_are_decoded_in_blocks() -> None:
    events = [
        CUP.rows(*[(n, f"name {n}") for n in range(start, start + 700)])
        for start in range(0, 21_000, 700)
    ]
    results = decoded(log_bytes(transaction(1, CUP.map(), *events)))
    assert [after for *_, after in changed(results)] == [(n, f"name {n}") for n in range(21_000)]
    assert len([r for r in results if isinstance(r, Changes)]) > 2


DIGEST = """
import sys
from tests.unit.decoder.stream.test_segment_decoder import digest
print(digest(*sys.argv[1:]))
"""


def digest(*files: str) -> str:
    """Return a digest of all changes in some logs."""
    found = hashlib.sha256()
    for name in files:
        for changes in decoder.read(Path(name).read_bytes()):
            found.update(repr(changes.batch.to_pylist()).encode())
    return found.hexdigest()


@pytest.mark.parametrize("variable", [{"NUMBA_DISABLE_JIT": "1"}, {"NUMBA_BOUNDSCHECK": "1"}])
def test_interpreted_and_checked_kernels_have_the_same_results(variable: dict[str, str]) -> None:
    data = Path(__file__).parent.parent.parent.parent / "data"
    files = [str(data / f"{name}.binlog") for name in ("full_metadata", "plain", "compressed")]

    other = subprocess.run(
        [sys.executable, "-c", DIGEST, *files],
        env={**os.environ, **variable},
        cwd=data.parent.parent,
        capture_output=True,
        text=True,
        check=True,
    )
    assert other.stdout.strip() == digest(*files)
