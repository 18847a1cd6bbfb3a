"""Which records of runs are removed."""

from __future__ import annotations

from datetime import datetime, timedelta, timezone

import pytest

from pipeline.maintenance.retention import runs_before
from pipeline.settings import Settings

EAST = timezone(timedelta(hours=5))


@pytest.mark.parametrize(
    ("keep", "now", "first"),
    [
        (90, datetime(2026, 11, 22, 12, tzinfo=timezone.utc), "2026-08-24"),
        (1, datetime(2026, 11, 22, 3, tzinfo=EAST), "2026-11-20"),
        (36500, datetime(2026, 11, 22, tzinfo=timezone.utc), "1926-12-17"),
    ],
)
def test_records_of_runs_are_removed_by_day_in_utc(keep: int, now: datetime, first: str) -> None:
    removal = runs_before(Settings(lake="/lake", keep_runs=keep), now)
    assert (removal.table.reference, removal.where.sql) == (
        "/lake/ledger/runs",
        f"`day` < DATE'{first}'",
    )
