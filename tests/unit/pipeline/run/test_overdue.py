"""Overdue maintenance, from the ledger alone."""

from __future__ import annotations

from datetime import datetime, timedelta, timezone
from pathlib import Path

import pytest

from pipeline.lake import Lake, Ledger
from pipeline.lake.ledger.ledger_table import Layer
from pipeline.run.status import last_maintained, overdue
from tests.support.spark.no_spark import NO_SPARK

SOON = timedelta(days=2, minutes=-1)
LATE = timedelta(days=2, minutes=1)
MUCH_LATER = timedelta(days=9)


def ledger_with(lake: Path, *layers: Layer, left_open: Layer | None = None) -> Ledger:
    """Return a ledger with a finished batch of each layer, and an open one."""
    ledger = Ledger(NO_SPARK, Lake(str(lake)), "shop")
    for layer in layers:
        ledger.finish(ledger.propose(layer, {}), {})
    if left_open is not None:
        ledger.propose(left_open, {})
    return Ledger(NO_SPARK, Lake(str(lake)), "shop")


@pytest.mark.parametrize(
    ("layers", "later", "sentence"),
    [
        ((), LATE, None),
        (("bronze",), SOON, None),
        (("bronze",), LATE, "shop has not been maintained for 2 days;"),
        (("bronze", "maintenance"), SOON, None),
        (("bronze", "maintenance"), MUCH_LATER, "shop has not been maintained for 9 days;"),
    ],
)
def test_maintenance_is_overdue_after_two_days(
    tmp_path: Path, layers: tuple[Layer, ...], later: timedelta, sentence: str | None
) -> None:
    ledger = ledger_with(tmp_path, *layers)
    now = datetime.now(timezone.utc) + later
    found = overdue(ledger, last_maintained(ledger), now)
    if sentence is None:
        assert found is None
    else:
        assert (found or "").startswith(sentence)
        assert "schedule binlake maintain daily" in (found or "")


def test_a_batch_that_was_left_open_does_not_count(tmp_path: Path) -> None:
    """A maintenance that is killed each time would otherwise never be overdue."""
    ledger = ledger_with(tmp_path, "maintenance", left_open="maintenance")
    done, planned = ledger.history("maintenance")[1:]
    assert (done.state, planned.state) == ("finished", "planned")
    assert last_maintained(ledger) == done.at
    assert last_maintained(ledger_with(tmp_path / "other", left_open="maintenance")) is None
