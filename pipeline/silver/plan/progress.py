"""Silver's progress: its last batch, and the full refresh that it belongs to."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from pipeline.errors import SettingsError
from pipeline.lake import Ledger
from pipeline.lake.ledger.history_removed import ABANDONED, maintained
from pipeline.lake.ledger.ledger import Plan
from pipeline.settings import Settings
from pipeline.silver.plan.batch_plan import SilverPlan
from pipeline.silver.plan.refresh import Refresh


@dataclass(frozen=True, slots=True)
class Standing:
    """`plan` is that of the last batch, whose number is `batch`.

    It is None if nothing has been decoded yet, or nothing since a full refresh started.
    """

    batch: int = 0
    plan: SilverPlan | None = None
    refresh: Refresh = field(default_factory=Refresh)


def silver_progress(ledger: Ledger) -> Standing:
    """Return silver's progress after its last finished batch."""
    last = ledger.last("silver")
    return _after(last, ledger.record("silver")) if last else Standing()


def silver_progress_ahead(ledger: Ledger) -> Standing:
    """Return the same, but with a planned full refresh as started: rows may already be deleted."""
    plan = ledger.open("silver")
    begins = plan is not None and plan.body.get("begins") is not None
    return _after(plan, None) if plan and begins else silver_progress(ledger)


def _after(last: Plan, record: Mapping[str, Any] | None) -> Standing:
    plan = SilverPlan.from_body(last.body)
    begins = plan.begins
    if begins is None or ABANDONED in (record or {}):
        return Standing(last.batch, plan, plan.refresh)
    refresh = Refresh(
        last.batch,
        begins.asked,
        under_way=True,
        maintained=maintained(record or {}, begins.maintained),
        upto=begins.upto,
    )
    return Standing(last.batch, None, refresh)


def require_same_types(ledger: Ledger, settings: Settings) -> None:
    """Raise SettingsError if `types` differs from what the lake's tables were created with."""
    made = _types(ledger)
    for name, value in settings.decoding["types"].items():
        if made is not None and value != made[name]:
            raise SettingsError(
                f"is {value}, but the tables of this lake were created with {made[name]}.",
                key=f"types.{name}",
                remedy="Set it back, rebuild the tables (binlake run --full-refresh), or use a new"
                " lake.",
            )


def _types(ledger: Ledger) -> Mapping[str, str] | None:
    plan = ledger.open("silver") or ledger.last("silver")
    if plan is None:
        return None
    done = ledger.open("silver") is None
    abandoned = done and ABANDONED in (ledger.record("silver") or {})
    begins = None if abandoned else plan.body.get("begins")
    types: Mapping[str, str] = (begins or plan.body)["conf"]["types"]
    return types
