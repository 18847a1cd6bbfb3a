"""Bronze's lookups in silver during a full refresh of silver; without Spark."""

from __future__ import annotations

from dataclasses import replace

import pytest

from pipeline.bronze import inputs
from pipeline.lake.ledger.history_removed import ABANDONED, position_before_refresh
from pipeline.layer import LayerRun
from pipeline.observe.progress import QuietProgress
from pipeline.settings import Settings
from pipeline.silver.plan.batch_plan import RefreshStart, SilverPlan
from pipeline.silver.plan.progress import silver_progress
from tests.support.lake.memory_ledger import MemoryLedger

SETTINGS = Settings(source="shop")
DECODED = SilverPlan((1, 0), (3, 900), 3 << 40, conf=SETTINGS.decoding)
BEGINS = replace(DECODED, begins=RefreshStart("a", 1, (), SETTINGS.decoding, DECODED.end))


def looked_up(monkeypatch: pytest.MonkeyPatch, ledger: MemoryLedger) -> tuple[int | None, int, int]:
    """Silver's commit time of `u:1`, until when its history is removed, and the file it reached."""
    monkeypatch.setattr(inputs, "commits", lambda *_: {"u:1": 7}.get)
    earlier = inputs.earlier_transactions(LayerRun(None, SETTINGS, ledger, QuietProgress()))
    return earlier.committed("u:1"), earlier.removed_until, inputs._reached(ledger)


def test_during_a_full_refresh_nothing_is_looked_up_and_silvers_earlier_position_counts(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    ledger = MemoryLedger()
    assert looked_up(monkeypatch, ledger) == (7, 0, 0)
    ledger.did("silver", DECODED.to_body())
    ledger.did("maintenance", {"removed": {"lsn": 5, "committed_at": 6}})
    assert looked_up(monkeypatch, ledger) == (7, 6, 3)
    plan = ledger.propose("silver", BEGINS.to_body())
    assert looked_up(monkeypatch, ledger) == (None, 0, 3)
    ledger.finish(plan, {})
    refresh = silver_progress(ledger).refresh
    part = replace(DECODED, end=(1, 50), refresh=refresh)
    ledger.did("silver", part.to_body())
    last = replace(DECODED, end=(4, 10), refresh=replace(refresh, under_way=False))
    assert looked_up(monkeypatch, ledger) == (None, 0, 3)
    plan = ledger.propose("silver", last.to_body())
    assert looked_up(monkeypatch, ledger) == (None, 0, 4)
    ledger.finish(plan, {})
    assert looked_up(monkeypatch, ledger) == (7, 0, 4)


def test_an_abandoned_refresh_has_removed_nothing() -> None:
    ledger = MemoryLedger()
    ledger.did("silver", DECODED.to_body())
    ledger.did("silver", BEGINS.to_body(), {ABANDONED: "bronze has lost a file"})
    assert position_before_refresh(ledger) is None
