"""Silver's progress: its last batch, its full refresh, and the tables that a source owns."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from pipeline.errors import SettingsError
from pipeline.lake import Ledger
from pipeline.lake.ledger.history_removed import ABANDONED, maintained
from pipeline.lake.ledger.ledger import Plan
from pipeline.layer import LayerRun
from pipeline.schema_history import TableName
from pipeline.schema_history.timeline.stored_timeline import (
    require_own_tables,
    table_of_other_source,
)
from pipeline.settings import Settings
from pipeline.silver.plan.batch_plan import REFRESH_START, Refresh, RefreshStart, SilverPlan


@dataclass(frozen=True, slots=True)
class SilverProgress:
    """Silver's position: its last batch, that batch's plan, and the full refresh it belongs to.

    `plan`: None if nothing has been decoded yet, or nothing since a full refresh started.
    """

    batch: int = 0
    plan: SilverPlan | None = None
    refresh: Refresh = field(default_factory=Refresh)


def silver_progress(ledger: Ledger) -> SilverProgress:
    """Return silver's progress after its last finished batch."""
    last = ledger.last("silver")
    return _after(last, ledger.record("silver")) if last else SilverProgress()


def silver_progress_ahead(ledger: Ledger) -> SilverProgress:
    """Return the same, but count a planned full refresh as started: rows may already be deleted."""
    plan = ledger.open("silver")
    begins = plan is not None and plan.body.get("begins") is not None
    return _after(plan, None) if plan and begins else silver_progress(ledger)


def _after(last: Plan, record: Mapping[str, Any] | None) -> SilverProgress:
    plan = SilverPlan.from_body(last.body)
    begins = plan.begins
    if begins is None or ABANDONED in (record or {}):
        return SilverProgress(last.batch, plan, plan.refresh)
    refresh = Refresh(
        last.batch,
        begins.settings_digest,
        under_way=True,
        maintained=maintained(record or {}, begins.maintained),
        upto=begins.upto,
    )
    return SilverProgress(last.batch, None, refresh)


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


def require_unclaimed(run: LayerRun, names: Collection[TableName]) -> None:
    """Raise SettingsError if another source of this lake has one of these tables or refreshes it.

    The timeline records which tables a source has. While a full refresh fills it again, the batch
    that started the refresh records them.
    """
    # In this order: a timeline is emptied only after the ledger has the plan to do so.
    require_own_tables(run.spark, run.lake, run.source, names)
    if not names:
        return
    for other, begun in sorted(refreshes_by_others(run.ledger).items()):
        refresh = silver_progress_ahead(Ledger(run.spark, run.lake, other)).refresh
        if taken := sorted(claimed(refresh, begun).intersection(names)):
            raise table_of_other_source(taken[0], other, run.source)


def claimed(refresh: Refresh, begun: Iterable[RefreshStart]) -> set[TableName]:
    """Return the tables that a source had before a full refresh in progress.

    `begun`: all of its refreshes. One that replaced another in progress did not see all tables.
    """
    if not refresh.under_way:
        return set()
    return {
        TableName(schema, table)
        for one in begun
        if one.upto == refresh.upto
        for schema, table, _ in one.tables
    }


def refreshes_by_others(ledger: Ledger) -> Mapping[str, Sequence[RefreshStart]]:
    """Return all full refreshes that other sources have started, read again from the ledger."""
    ledger.refresh()
    return {
        source: [REFRESH_START.validate_json(text) for text in texts]
        for source, texts in ledger.refreshes_by_others().items()
    }
