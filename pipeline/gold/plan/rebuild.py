"""Full refresh of gold: every table is rebuilt from silver, in place.

It starts with a batch of its own that resets gold's state; the batches after it catch up with
silver, and only the last one publishes a snapshot: until then the previous one stays. Each table is
emptied in place when its first change is applied; `gold_table` records in its properties to which
refresh it belongs. An open batch that can no longer be carried out is set aside: its record says
that a full refresh begins in its place.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import asdict, replace
from typing import Any

from pipeline.errors import BinlakeError
from pipeline.gold.plan.batch_plan import LEFT_OUT
from pipeline.gold.plan.cuts_table import cuts_table
from pipeline.gold.plan.publication import Cut, cut_step
from pipeline.gold.table.names import is_same_place
from pipeline.gold.table.state import GoldState, Rebuild, TableState
from pipeline.lake import Ledger
from pipeline.lake.ledger.history_removed import ABANDONED, removed
from pipeline.lake.ledger.ledger import Plan
from pipeline.layer import LayerRun
from pipeline.schema_history import TableName
from pipeline.settings import Settings
from pipeline.silver.full_refresh import RefreshRefusedError, require_no_maintenance
from pipeline.silver.plan.progress import silver_progress, silver_progress_ahead

GONE = "The log as decoded by the last full refresh does not contain it."
BEING_BUILT = "A full refresh is in progress and has not rebuilt it yet."
WAITS = (
    "A full refresh of silver is in progress (binlake decode): gold keeps its published snapshot"
    " until that is finished, and is then rebuilt."
)
_IN_DIGEST = frozenset(
    {
        *("include", "exclude", "types", "keys", "on_fault", "on_drop", "foreign_keys_logged"),
        *("catalog", "lake_schema"),
    }
)
"""Settings that gold's rows depend on."""


def settings_digest(settings: Settings) -> str:
    """Return a digest of the settings that a full refresh depends on."""
    values = settings.model_dump(mode="json", include=set(_IN_DIGEST))
    return hashlib.sha256(json.dumps(values, sort_keys=True).encode()).hexdigest()


def is_stale(ledger: Ledger) -> bool:
    """Return True if gold was built from silver as it was before silver's last full refresh."""
    known = ledger.last("gold") is not None
    return (
        known and GoldState.of(ledger).rebuild.silver != silver_progress_ahead(ledger).refresh.batch
    )


def is_overtaken(ledger: Ledger, state: GoldState) -> bool:
    """Return True if a full refresh of silver has begun since, so a plan's rows may be gone."""
    return silver_progress_ahead(ledger).refresh.batch != state.rebuild.silver


def begins_refresh(plan: Plan) -> bool:
    """Return True if the batch begins a full refresh."""
    return GoldState.from_body(plan.body).rebuild.batch == plan.batch


def refresh_under_way(ledger: Ledger) -> bool:
    """Return True if a full refresh of silver or gold is in progress, or due for gold."""
    plan = ledger.open("gold")
    gold = ledger.last("gold") is not None and GoldState.of(ledger).rebuild.under_way
    opened = plan is not None and begins_refresh(plan)
    return silver_progress_ahead(ledger).refresh.under_way or gold or opened or is_stale(ledger)


def progress(ledger: Ledger) -> str | None:
    """Return a sentence on the progress of a full refresh; None without one."""
    if not refresh_under_way(ledger):
        return None
    silver = silver_progress_ahead(ledger)
    begun = "a full refresh is in progress"
    stays = "the published snapshot stays until it is finished."
    if silver.refresh.under_way:
        upto = f"up to LSN {silver.plan.last_lsn}" if silver.plan else "from the start"
        return f"{begun}: silver is being decoded again, {upto} so far; {stays}"
    state = GoldState.of(ledger)
    if not state.rebuild.under_way:
        return f"{begun}: silver is finished, gold has not started yet; {stays}"
    return f"{begun}: gold is at LSN {state.cut_lsn} of {state.rebuild.upto} or more; {stays}"


def is_resumed(ledger: Ledger, settings: Settings) -> bool:
    """Return True if a full refresh of gold with these settings is in progress or due anyway."""
    if is_stale(ledger):
        return True
    states = [GoldState.of(ledger)]
    if (plan := ledger.open("gold")) and begins_refresh(plan):
        states.append(GoldState.from_body(plan.body))
    return any(
        one.rebuild.under_way and one.rebuild.settings_digest == settings_digest(settings)
        for one in states
    )


def awaits_rebuild(ledger: Ledger) -> bool:
    """Return True if silver had a full refresh for which gold has published no snapshot yet."""
    begun = silver_progress_ahead(ledger).refresh.batch
    return begun > 0 and GoldState.of(ledger).rebuild.reached != begun


def require_all_of_silver(ledger: Ledger) -> None:
    """Raise RefreshRefusedError if maintenance has removed changes that gold was built from.

    Raise ConcurrentRunError if that maintenance is still running.
    """
    gone = removed(ledger)
    if gone.lsn:
        require_no_maintenance(ledger)
        raise RefreshRefusedError(
            f"{gone.sentence[0].upper()}{gone.sentence[1:]}: gold cannot be rebuilt from the rest.",
            remedy="binlake run --full-refresh decodes everything again from bronze, as long as"
            " bronze is complete (retention.bronze); nothing was changed.",
        )


def beginning_state(
    settings: Settings, ledger: Ledger, instead: GoldState | None = None
) -> GoldState:
    """Return gold's state after the next batch, which resets it and begins a full refresh.

    `instead`: the state that the batch was to reach as planned; it may already have created tables.
    Tables that the settings now exclude are kept unchanged.
    """
    previous, silver, last = GoldState.of(ledger), silver_progress(ledger), ledger.last("gold")
    before = previous.rebuild
    known = {**(instead.tables if instead else {}), **previous.tables}
    tables = {
        name: table
        if name in previous.tables and not settings.wanted(name.schema, name.table)
        else TableState(name.schema, name.table, reason=GONE)
        for name, table in known.items()
    }
    return GoldState(
        silver_batch=silver.batch,
        tables=tables,
        rebuild=Rebuild(
            last.batch + 1 if last else 1,
            silver_progress_ahead(ledger).refresh.batch,
            before.reached,
            under_way=True,
            upto=before.upto if before.under_way else previous.cut_lsn,
            settings_digest=settings_digest(settings),
        ),
    )


def beginning_record(record: Mapping[str, Any] | None, state: GoldState) -> dict[str, Any]:
    """Return the record of a batch that begins a full refresh; `record` is the previous batch's."""
    reset = {name for name, table in state.tables.items() if table.reason == GONE}
    entries = [
        # Its Delta version stays, so that later commits can be distinguished.
        {**entry, "delta_id": None}
        if TableName(entry["schema"], entry["table"]) in reset
        else entry
        for entry in Cut.of(record).tables
    ]
    return {
        "changes": {},
        "held": [],
        "cut": asdict(Cut(tables=entries)),
        "cut_lsn": state.cut_lsn,
        "published_at": (record or {}).get("published_at"),
        "published": published_before(record),
        "drift": {},
        "written": {},
    }


def published_before(record: Mapping[str, Any] | None) -> dict[str, Any] | None:
    """Return the part of a record that describes the last published snapshot."""
    if record is None or record.get("published"):
        return (record or {}).get("published")
    cut = {"committed_at": Cut.of(record).committed_at}
    names = ("cut_lsn", "published_at")
    return {"cut": cut, **{name: record.get(name) for name in names}}


def set_aside(run: LayerRun, plan: Plan) -> None:
    """Finish an open plan by beginning a full refresh in its place.

    A run that is still carrying the plan out can no longer publish its snapshot: its step is
    claimed.
    """
    ledger = run.ledger
    ledger.tables.claim(cuts_table(run.lake), cut_step(run.source, plan.batch))
    state = beginning_state(run.settings, ledger, GoldState.from_body(plan.body))
    record = beginning_record(ledger.record("gold"), state)
    ledger.finish(plan, {**record, "state": state.to_body()})


def carry_out(ledger: Ledger, plan: Plan) -> None:
    """Finish a batch that begins a full refresh; no table is written yet.

    Raise what `require_all_of_silver` raises if maintenance ran since the batch was planned: gold
    then stays as it was. Maintenance that runs later sees the plan and removes nothing.
    """
    if ledger.finished_by_another(plan):
        return
    try:
        require_all_of_silver(ledger)
    except BinlakeError as refusal:
        # Nothing changes.
        kept = {**(ledger.record("gold") or {}), "state": GoldState.of(ledger).to_body()}
        nothing: dict[str, Any] = {"changes": {}, "written": {}}
        ledger.finish(plan, {**kept, **nothing, ABANDONED: refusal.reason})
        raise
    state = GoldState.from_body(plan.body)
    ledger.finish(plan, beginning_record(ledger.record("gold"), state))


def after_batch(rebuild: Rebuild, *, ends: bool) -> Rebuild:
    """Return the refresh that the next batch belongs to; `ends`: the batch publishes a snapshot."""
    if not (rebuild.under_way and ends):
        return rebuild
    return replace(rebuild, under_way=False, reached=rebuild.silver)


def replaces_gone_table(settings: Settings, state: GoldState, name: TableName) -> bool:
    """Return True if a new table takes the place of one of ours that the log no longer contains.

    This happens in a catalog, which ignores case, after a change of `lower_case_table_names`.
    """
    there = [
        table
        for other, table in state.tables.items()
        if other != name and is_same_place(settings, name, other)
    ]
    return bool(there) and all(one.reason == GONE and one.version is None for one in there)


def not_rebuilt(settings: Settings, state: GoldState) -> list[str]:
    """Return sentences about tables that a finished full refresh did not rebuild."""
    built = [table.name for table in state.tables.values() if table.reason != GONE]
    return [
        f"{table.name} was not rebuilt: {table.reason} Its gold table was kept unchanged; delete"
        " it if it is no longer needed."
        for _, table in sorted(state.tables.items())
        if table.reason in (GONE, LEFT_OUT)
        and not table.held
        # Otherwise its place now belongs to another table.
        and not any(one != table.name and is_same_place(settings, one, table.name) for one in built)
    ]
