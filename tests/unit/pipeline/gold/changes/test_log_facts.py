"""Facts about a range of the log, from silver's transactions."""

from __future__ import annotations

from datetime import datetime, timezone
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from pipeline.gold.changes.changes import Skipped
from pipeline.gold.changes.log_facts import Facts, facts, intervals
from pipeline.schema_history import TableName
from pipeline.silver.decode.silver_tables import TRANSACTIONS

UUID = "3e11fa47-71ca-11e1-9e33-c80aa9429562"


def transaction(lsn: int, gtid: str | None = None, **values: Any) -> dict[str, Any]:
    at = datetime.fromtimestamp(lsn, timezone.utc)
    return {
        "__lsn": lsn,
        "file": "binlog.000001",
        "start_pos": lsn,
        "gtid": gtid,
        "committed_at": at,
        "rows": None,
        "bytes": 100,
        "commit_lsn": lsn,
        "rolled_back": None,
        "rolled_back_rows": None,
        "xa": None,
        "xa_end": None,
        "cascades": "logged",
        **values,
    }


def look(rows: list[dict[str, Any]], previous_cut_lsn: int = 0) -> Facts:
    """Return the facts of rows, in slices of at least two."""
    size = max(2, len(rows) // 40)
    slices = [
        pa.Table.from_pylist(rows[n : n + size], schema=TRANSACTIONS)
        for n in range(0, len(rows), size)
    ]
    return facts(slices, 0, 10_000_000, previous_cut_lsn=previous_cut_lsn)


def test_many_gtids_become_intervals_whatever_their_order() -> None:
    numbers = [*range(1, 40_001), *range(65_530, 65_550), 70_000]
    rows = [transaction(n, f"{UUID}:{n}") for n in reversed(numbers)]
    rows += [transaction(80_000, f"{UUID}:tag:5"), transaction(80_001, None)]
    found = look(rows)
    joined: dict[str, list[int]] = {}
    for sid, first, last in found.gtids:
        joined.setdefault(sid, []).extend(range(first, last + 1))
    assert {sid: sorted(n) for sid, n in joined.items()} == {UUID: numbers, f"{UUID}:tag": [5]}
    assert found.server_ends == ()
    assert (found.last_lsn, found.committed_at) == (80_001, 80_001 * 1_000_000)


def test_a_domain_has_the_last_gtid_of_each_server() -> None:
    gtids = ("7-1-1", "0-1-7", "0-1-8", "0-2-9")
    rows = [transaction(number, gtid) for number, gtid in enumerate(gtids, 1)]
    assert sorted(look(rows).server_ends) == ["0-1-8", "0-2-9", "7-1-1"]


def test_changed_tables_are_those_with_rows_after_the_previous_snapshot() -> None:
    """Facts reach further back for a held table; other tables have already applied these."""
    rows = [transaction(n, rows={name: 1}) for n, name in enumerate(("s.a", "s.b", "s.c"), 1)]
    found = look(rows, previous_cut_lsn=2)
    assert (found.changed, found.changes) == ({"s.c"}, 3)


def test_tables_rollbacks_and_undecided_transactions() -> None:
    rows = [
        transaction(1, rows={"s.a": 1, "s.b": 2}),
        transaction(2, rows={"s.a": 1}, rolled_back=[(10, 20), (30, 40)], cascades=None),
        transaction(5, rolled_back_rows=[(2, 5)]),
        transaction(3, rows={"s.c": 1}, commit_lsn=None),
        transaction(4, rows={"s.d": 1}, commit_lsn=None),
        transaction(4, rows={"s.d": 1}, commit_lsn=6),
    ]
    found = look(rows)
    assert found.changed == {"s.a", "s.b", "s.c", "s.d"}
    assert sorted(found.skipped, key=str) == [
        Skipped(2, 10, 20),
        Skipped(2, 30, 40),
        Skipped(5, 2, 5, inside=True),
    ]
    (fault,) = found.undecided
    assert (fault.lsn, fault.tables) == (3, (TableName("s", "c"),))
    assert "binlog.000001, position 3" in fault.sentence
    assert (found.changes, found.bytes) == (7, 600)
    assert found.unlogged == {"s.a"}


def test_tables_with_possibly_unlogged_cascades() -> None:
    rows = [
        transaction(1, rows={"s.a": 1}, cascades="logged"),
        transaction(2, rows={"s.b": 1}, cascades="unlogged"),
        transaction(3, rows={"s.c": 1}, cascades="mixed"),
        transaction(4, rows={"s.d": 1}, xa="x", xa_end="prepare", cascades="logged"),
    ]
    assert look(rows).unlogged == {"s.b", "s.c", "s.d"}


def test_no_transactions_have_no_facts() -> None:
    assert look([]) == Facts(0, 10_000_000)


@pytest.mark.parametrize(
    ("numbers", "runs"),
    [
        ([1], [(1, 1)]),
        ([1, 2, 2, 3, 10, 10, 11], [(1, 3), (10, 11)]),
        ([(1 << 63) - 1], [((1 << 63) - 1, (1 << 63) - 1)]),
        ([], []),
    ],
)
def test_consecutive_numbers_form_intervals(
    numbers: list[int], runs: list[tuple[int, int]]
) -> None:
    assert intervals(np.array(numbers, np.int64)) == runs
