"""Totals over a run's batches."""

from __future__ import annotations

from datetime import datetime, timedelta, timezone
from typing import Any

from pipeline.lake.ledger.run_record import RecordedBatch
from pipeline.observe.current_run import FinishedBatch
from pipeline.run.totals import cut_of, work

BEGAN = datetime(2026, 11, 22, 12, tzinfo=timezone.utc)
LATER = BEGAN + timedelta(seconds=30)
COMMITTED = BEGAN - timedelta(minutes=5)


def bronze(n: int, planned_by: str = "me", **events: int) -> FinishedBatch:
    record = {"files": 1, "bytes": 100 * n, "segments": 2, "events": events}
    return FinishedBatch("bronze", n, planned_by, record)


def silver(n: int, **rows: int) -> FinishedBatch:
    counts = {"transactions": 3, "rows": sum(rows.values())}
    return FinishedBatch("silver", n, "me", {"counts": counts, "rows": rows, "seen_before": 1})


def gold(published_at: datetime | None, **changes: int) -> FinishedBatch:
    record: dict[str, Any] = {
        "changes": changes,
        "cut": {"committed_at": int(COMMITTED.timestamp() * 1_000_000)},
        "cut_lsn": 5,
        "published_at": published_at.isoformat() if published_at else None,
    }
    return FinishedBatch("gold", 1, "me", record)


def test_batches_of_all_layers_are_added_up() -> None:
    done = work(
        [
            bronze(1, "before", QUERY=1, XID=2),
            bronze(2, QUERY=4),
            silver(1, a=1),
            silver(2, a=2, b=3),
        ],
        "me",
        BEGAN,
    )
    assert done["batches"] == (
        *(RecordedBatch("bronze", 1, "before"), RecordedBatch("bronze", 2)),
        *(RecordedBatch("silver", 1), RecordedBatch("silver", 2)),
    )
    assert (done["files"], done["bytes"], done["segments"]) == (2, 300, 4)
    assert done["events_by_type"] == {"QUERY": 5, "XID": 2}
    assert (done["transactions"], done["seen_before"]) == (6, 2)
    assert done["rows_decoded_by_table"] == {"a": 3, "b": 3}
    assert (done["rows_applied_by_table"], "cut_lsn" in done) == ({}, False)


def test_the_snapshot_is_the_last_one_if_this_run_published_it() -> None:
    published = work([gold(BEGAN, a=1), gold(LATER, a=2, b=0)], "me", BEGAN)
    assert published["rows_applied_by_table"] == {"a": 3}
    assert (published["cut_lsn"], published["cut_committed_at"]) == (5, COMMITTED)
    assert published["published_at"] == LATER
    for before in (COMMITTED, None):  # None: a lake of an older release
        assert "cut_lsn" not in work([gold(before)], "me", BEGAN)
        assert cut_of(gold(before).record)["cut_lsn"] == 5
