"""Input that has not grown for longer than `stale` allows, from the records of runs."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime, timedelta, timezone

import pytest

from pipeline.run.status import stale_input
from pipeline.settings import Settings
from tests.unit.pipeline.lake.ledger.test_run_record import RECORD

NOW = datetime(2026, 11, 26, 12, tzinfo=timezone.utc)


@pytest.mark.parametrize(
    ("stale", "hours", "source", "sentence"),
    [
        ("2 hours", 3, "shop", "No new log: the newest file, binlog.000007, was last written at"),
        ("2 hours", 1, "shop", ""),
        (None, 3, "shop", ""),
        ("2 hours", 3, "blog", ""),
    ],
    ids=["older", "younger", "any age", "another source"],
)
def test_an_old_newest_file_is_a_problem(
    stale: str | None, hours: int, source: str, sentence: str
) -> None:
    settings = Settings.load(None, source="shop", lake="/lake", stale=stale)
    written = NOW - timedelta(hours=hours)
    ingested = replace(RECORD, source=source, newest_file="binlog.000007", newest_file_at=written)
    # A layer that reads no files knows of none.
    applied = replace(RECORD, source=source, newest_file=None, newest_file_at=None)
    found = "".join(stale_input([ingested, applied], settings, NOW))
    assert found.startswith(sentence)
    assert bool(found) == bool(sentence)
