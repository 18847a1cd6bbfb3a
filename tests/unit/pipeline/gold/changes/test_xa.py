"""Where rows of XA transactions are applied."""

from __future__ import annotations

from typing import Any

import pytest

from pipeline.gold.changes.xa import Prepared, first_open, pair, redefined
from pipeline.schema_history.alter.items import TimelineItem


def row(lsn: int, xa: str, end: str, *names: str) -> dict[str, Any]:
    return {"lsn": lsn, "xa": xa, "xa_end": end, "committed_at": lsn * 10, "names": list(names)}


def test_a_reused_xid_is_decided_each_time() -> None:
    rows = [
        row(1, "a", "prepare", "s.t"),
        row(2, "b", "prepare"),
        row(3, "a", "rollback"),
        row(4, "a", "prepare", "s.u"),
        row(5, "c", "one_phase"),
        row(6, "a", "commit"),
        row(7, "nobody", "commit"),
    ]
    assert pair(rows) == [
        Prepared(1, frozenset({"s.t"}), 3, committed=False, committed_at=30),
        Prepared(2),
        Prepared(4, frozenset({"s.u"}), 6, committed=True, committed_at=60),
    ]


@pytest.mark.parametrize(
    ("reached", "first"),
    [([100], 20), ([100, 49], 10), ([50, 100], 20), ([], 20)],
)
def test_the_next_batch_reads_back_to_what_a_table_still_needs(
    reached: list[int], first: int
) -> None:
    prepared = [Prepared(10, end_lsn=50, committed=True), Prepared(20)]
    assert first_open(prepared, reached, 100) == first


def test_without_open_transactions_nothing_earlier_is_read() -> None:
    assert first_open([Prepared(10, end_lsn=50)], [100, 90], 100) == 101


def item(lsn: int, kind: Any, version: int | None = 1) -> TimelineItem:
    return TimelineItem(lsn, 0, "s", "t", kind, version)


@pytest.mark.parametrize(
    ("items", "count"),
    [
        ([item(1, "create")], 0),
        ([item(1, "create"), item(12, "version")], 0),
        ([item(1, "create"), item(12, "version", 2)], 1),
        ([item(1, "create"), item(10, "version", 2), item(12, "version", 2)], 0),
        ([item(1, "create"), item(12, "add_columns", 2)], 1),
        ([item(1, "create"), item(12, "drop", None)], 1),
        ([item(1, "create"), item(21, "add_columns", 2)], 0),
    ],
)
def test_a_table_that_changed_since_its_prepare_is_held_at_the_commit(
    items: list[TimelineItem], count: int
) -> None:
    prepared = [Prepared(10, frozenset({"s.t"}), 20, committed=True)]
    assert [fault.lsn for fault in redefined(prepared, items)] == count * [20]
    undecided = [Prepared(10, frozenset({"s.t"}))]
    assert list(redefined(undecided, items)) == []
