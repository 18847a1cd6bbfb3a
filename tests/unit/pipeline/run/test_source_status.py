"""Freshness and lag of gold."""

from __future__ import annotations

from datetime import datetime, timedelta, timezone

import pytest

from pipeline.run.status import source_status
from tests.unit.pipeline.lake.ledger.test_run_record import RECORD

NOW = datetime(2026, 11, 22, 12, tzinfo=timezone.utc)
COMMITTED = NOW - timedelta(minutes=10)
CUT = {"committed_at": int(COMMITTED.timestamp() * 1_000_000), "gtid_set": None, "tables": []}


def test_lag_ends_when_gold_was_published_and_age_ends_now() -> None:
    published = (COMMITTED + timedelta(seconds=42)).isoformat()
    record = {"cut": {**CUT, "gtid_set": "u:1-9"}, "cut_lsn": 7, "published_at": published}
    found = source_status("shop", record, RECORD, NOW)
    assert (found.source, found.cut_lsn, found.committed_at) == ("shop", 7, COMMITTED)
    assert (found.lag_seconds, found.age_seconds, found.gtid_set) == (42.0, 600.0, "u:1-9")
    assert found.last_run is not None
    assert (found.last_run.run_id, found.last_run.outcome) == ("r1", "failed")
    assert found.last_run.error == RECORD.error


@pytest.mark.parametrize(
    ("record", "age"),
    [(None, None), ({"cut": {**CUT, "committed_at": None}}, None), ({"cut": CUT}, 600.0)],
    ids=["nothing published", "no transaction yet", "an older release's record"],
)
def test_unknown_values_are_none(record: dict | None, age: float | None) -> None:
    found = source_status("shop", record, None, NOW)
    assert (found.lag_seconds, found.age_seconds, found.last_run) == (None, age, None)
