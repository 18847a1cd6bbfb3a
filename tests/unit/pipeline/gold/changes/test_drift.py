"""When drift is checked, and how it is reported."""

from __future__ import annotations

from typing import Any

import pytest

from pipeline.gold.changes import drift as module
from pipeline.gold.changes.drift import (
    MAX_CHANGES,
    SMALL_BATCH_TABLES,
    TURNS,
    Drift,
    DriftCheck,
    drift_sample,
    in_all,
    sentences,
)

FOUND = Drift(10, 1, 2, 3)


@pytest.mark.parametrize(
    ("chosen", "fresh", "count", "looked"),
    [
        (True, True, MAX_CHANGES, True),
        (True, True, MAX_CHANGES + 1, False),
        ("full", True, MAX_CHANGES + 1, True),
        (False, True, 1, False),
        # Changes already applied by a crashed run would look like drift.
        ("full", False, 1, False),
    ],
)
def test_drift_is_checked_as_conf_says(
    monkeypatch: pytest.MonkeyPatch, *, chosen: bool | str, fresh: bool, count: int, looked: bool
) -> None:
    monkeypatch.setattr(module, "drift", lambda *_: FOUND)
    sample = drift_sample(chosen, 1, SMALL_BATCH_TABLES, fresh=fresh)
    nothing: Any = None
    if sample is not None:
        drift_check = DriftCheck(sample, "shop.t")
        for _ in range(2 if drift_check.is_due(count, small=True) else 0):
            drift_check.at(nothing, nothing, nothing)
    found = sample.found if sample else {}
    assert found == ({"shop.t": Drift(20, 2, 4, 6)} if looked else {})


@pytest.mark.parametrize(
    ("chosen", "tables", "small", "some"),
    [
        (True, SMALL_BATCH_TABLES, True, False),
        (True, SMALL_BATCH_TABLES, False, True),
        (True, SMALL_BATCH_TABLES + 1, True, True),
        ("full", 99, False, False),
    ],
)
def test_about_a_sixth_of_large_or_many_tables_is_checked_per_batch(
    chosen: bool | str, tables: int, *, small: bool, some: bool
) -> None:
    for every in (1, TURNS, 24):
        checks = dict.fromkeys((f"shop.t{n}" for n in range(9)), 0)
        for batch in range(0, 60 * every, every):
            sample = drift_sample(chosen, batch, tables, fresh=True)
            assert sample is not None
            for table in checks:
                checks[table] += sample.is_due(table, 1, small=small)
        low, high = (3, 20) if some else (60, 60)
        assert all(low <= times <= high for times in checks.values()), checks


def test_records_add_up_and_sentences_report_new_drift() -> None:
    first = in_all(None, {"shop.t": FOUND, "shop.u": Drift(5)})
    second = in_all(first, {"shop.t": Drift(4, 0, 0, 1)})
    assert Drift.of(second["shop.t"]) == Drift(14, 1, 2, 4)
    assert second["shop.u"] == first["shop.u"]
    (sentence,) = sentences(first, second)
    assert sentence.startswith("shop.t: for 1 of 4 checked changes")
    assert sentences(second, second) == []
    assert [line.split(":")[0] for line in sentences(None, second)] == ["shop.t"]
