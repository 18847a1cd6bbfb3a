"""A full refresh of gold: every table is built anew from silver, in place.

It begins with a batch of its own, after which gold stands at nothing; the batches behind that bring
it to silver's end, and only the last one publishes a cut: until then the one of before stays. Each
table is emptied in place when its first change is applied, by what `gold_table` keeps in its
properties: which refresh that is of. An open batch that cannot be carried out any more, or that
damage keeps from it, is set aside: its record says that a full refresh begins in its place.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import asdict, replace
from typing import Any

from pipeline.catalog import TableName
from pipeline.errors import BinlakeError
from pipeline.gold.plan.batch_plan import LEFT_OUT
from pipeline.gold.plan.cut import Cut, cut_step
from pipeline.gold.plan.published_cuts import cuts_table
from pipeline.gold.table.names import is_same_place
from pipeline.gold.table.state import GoldState, Rebuild, TableState
from pipeline.lake import Ledger
from pipeline.lake.ledger.history_removed import ABANDONED, removed
from pipeline.lake.ledger.ledger import Plan
from pipeline.lake.starting import Spark
from pipeline.lake.tables.opening import tables_of
from pipeline.settings import Settings
from pipeline.silver.full_refresh import RefreshRefusedError, require_no_maintenance
from pipeline.silver.plan.progress import Standing, silver_standing, silver_to_be

GONE = "The log, as it is decoded since the last full refresh, does not tell of it."
BEING_BUILT = "A full refresh is under way, and has not come to it."
WAITS = (
    "Silver is being decoded anew (binlake decode): gold stays at its published cut until that is"
    " done, and is built anew then."
)
_ASKED = frozenset(
    {
        *("include", "exclude", "types", "keys", "on_fault", "on_drop", "foreign_keys_logged"),
        *("catalog", "lake_schema"),
    }
)
"""Settings that gold's rows depend on."""


def asked(settings: Settings) -> str:
    """What tells a full refresh with these settings from one with others."""
    told = settings.model_dump(mode="json", include=set(_ASKED))
    return hashlib.sha256(json.dumps(told, sort_keys=True).encode()).hexdigest()


def is_stale(ledger: Ledger) -> bool:
    """Whether gold was made from what silver had before a full refresh of its own."""
    known = ledger.last("gold") is not None
    return known and GoldState.of(ledger).rebuild.silver != silver_to_be(ledger).refresh.batch


def is_overtaken(ledger: Ledger, state: GoldState) -> bool:
    """Whether a plan's rows of silver may be gone: a full refresh of silver has begun since."""
    return silver_to_be(ledger).refresh.batch != state.rebuild.silver


def begins(plan: Plan) -> bool:
    """Whether a batch of gold is one that begins a full refresh."""
    return GoldState.from_body(plan.body).rebuild.batch == plan.batch


def refresh_under_way(ledger: Ledger) -> bool:
    """Whether silver is being decoded anew, or gold is to be built anew, or is being."""
    plan = ledger.open("gold")
    gold = ledger.last("gold") is not None and GoldState.of(ledger).rebuild.under_way
    opened = plan is not None and begins(plan)
    return silver_to_be(ledger).refresh.under_way or gold or opened or is_stale(ledger)


def progress(ledger: Ledger) -> str | None:
    """How far a full refresh is, in words; None where none is under way."""
    if not refresh_under_way(ledger):
        return None
    silver, cut = silver_to_be(ledger), "the cut that was published before it stays until its end."
    if silver.refresh.under_way:
        upto = f"up to LSN {silver.plan.cut_lsn}" if silver.plan else "from the start"
        return f"a full refresh is under way: silver is being decoded anew, {upto} so far; {cut}"
    state = GoldState.of(ledger)
    if not state.rebuild.under_way:
        return f"a full refresh is under way: silver is decoded anew, gold is not begun yet; {cut}"
    far = f"is at LSN {state.cut_lsn} of {state.rebuild.upto} and on"
    return f"a full refresh is under way: gold {far}; {cut}"


def goes_on(ledger: Ledger, settings: Settings) -> bool:
    """Whether a full refresh of gold with these settings is under way, or is due anyway."""
    if is_stale(ledger):
        return True
    states = [GoldState.of(ledger)]
    if (plan := ledger.open("gold")) and begins(plan):
        states.append(GoldState.from_body(plan.body))
    return any(one.rebuild.under_way and one.rebuild.asked == asked(settings) for one in states)


def follows_silver(ledger: Ledger) -> bool:
    """Whether silver has had a full refresh of which gold has published no cut yet."""
    begun = silver_to_be(ledger).refresh.batch
    return begun > 0 and GoldState.of(ledger).rebuild.reached != begun


def require_all_of_silver(ledger: Ledger) -> None:
    """Raise RefreshRefusedError where maintenance has removed changes that gold was made from.

    ConcurrentRunError where it is still at that.
    """
    gone = removed(ledger)
    if gone.lsn:
        require_no_maintenance(ledger)
        raise RefreshRefusedError(
            f"{gone.sentence[0].upper()}{gone.sentence[1:]}: gold cannot be built anew from what is"
            " left there.",
            remedy="binlake run --full-refresh decodes everything anew from bronze, as long as"
            " bronze has everything (retention.bronze); nothing was touched.",
        )


def beginning_state(
    settings: Settings, ledger: Ledger, batch: int, instead: GoldState | None = None
) -> GoldState:
    """Gold at nothing, as it is behind a batch of that number which begins a full refresh.

    `instead`: what an open batch was to bring, which may have made tables already. Tables that conf
    leaves out now stay as they are.
    """
    previous, silver = GoldState.of(ledger), silver_standing(ledger)
    before = previous.rebuild
    known = {**(instead.tables if instead else {}), **previous.tables}
    tables = {
        name: table
        if name in previous.tables and not settings.wanted(*name_of(table))
        else TableState(*name_of(table), reason=GONE)
        for name, table in known.items()
    }
    return GoldState(
        silver_batch=silver.batch,
        tables=tables,
        rebuild=Rebuild(
            batch,
            silver_to_be(ledger).refresh.batch,
            before.reached,
            under_way=True,
            upto=before.upto if before.under_way else previous.cut_lsn,
            asked=asked(settings),
        ),
    )


def name_of(table: TableState) -> tuple[str, str]:
    """Its schema and its own name."""
    return table.schema, table.table


def beginning_record(record: Mapping[str, Any] | None, state: GoldState) -> dict[str, Any]:
    """The record of a batch that begins a full refresh; `record` is that of the batch before."""
    anew = {name_of(table) for table in state.tables.values() if table.reason == GONE}
    entries = [
        # Its Delta version stays, so that it is told what is written since.
        {**entry, "delta_id": None} if (entry["schema"], entry["table"]) in anew else entry
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
    """What a record tells of the last published cut."""
    if record is None or record.get("published"):
        return (record or {}).get("published")
    cut = {"committed_at": Cut.of(record).committed_at}
    names = ("cut_lsn", "published_at")
    return {"cut": cut, **{name: record.get(name) for name in names}}


def set_aside(spark: Spark, settings: Settings, ledger: Ledger, plan: Plan) -> None:
    """Finish an open plan by beginning a full refresh in its place.

    A run that is still at it publishes no cut afterwards: its step is taken.
    """
    lake = settings.layout
    tables_of(spark, lake).claim(cuts_table(lake), cut_step(settings.source, plan.batch))
    made = GoldState.from_body(plan.body)
    state = beginning_state(settings, ledger, plan.batch, made)
    record = beginning_record(ledger.record("gold"), state)
    ledger.finish(plan, {**record, "standing": state.to_body()})


def begin(settings: Settings, ledger: Ledger) -> Plan:
    """Begin a full refresh with the next batch, unless another run has planned that one first."""
    last = ledger.last("gold")
    state = beginning_state(settings, ledger, last.batch + 1 if last else 1)
    return ledger.propose("gold", state.to_body())


def carry_out(ledger: Ledger, plan: Plan) -> None:
    """Finish a batch that begins a full refresh: nothing is written yet.

    Raises what `require_all_of_silver` does if maintenance came first since the batch was planned:
    then gold stays as it was. One that comes later sees the plan, and removes nothing.
    """
    if ledger.finished_by_another(plan):
        return
    try:
        require_all_of_silver(ledger)
    except BinlakeError as refusal:
        ledger.finish(plan, abandoned(ledger, refusal.reason))
        raise
    state = GoldState.from_body(plan.body)
    ledger.finish(plan, beginning_record(ledger.record("gold"), state))


def abandoned(ledger: Ledger, reason: str) -> dict[str, Any]:
    """The record of a batch that was to begin a full refresh, and does not: all stays as it was."""
    before = ledger.record("gold") or {}
    nothing: dict[str, Any] = {"changes": {}, "written": {}}
    return {**before, **nothing, "standing": GoldState.of(ledger).to_body(), ABANDONED: reason}


def following(rebuild: Rebuild, *, ends: bool) -> Rebuild:
    """What the next batch is of; `ends`: it publishes a cut."""
    if not (rebuild.under_way and ends):
        return rebuild
    return replace(rebuild, under_way=False, reached=rebuild.silver)


def first(silver: Standing) -> Rebuild:
    """Of gold that has nothing yet."""
    return Rebuild(silver=silver.refresh.batch, reached=silver.refresh.batch)


def has_place_of_gone(settings: Settings, state: GoldState, name: TableName) -> bool:
    """Whether a table comes to the place of one that was ours, and is told of no more.

    So with a catalog, which knows no capitals, where `lower_case_table_names` is another now.
    """
    there = [
        table
        for other, table in state.tables.items()
        if other != name and is_same_place(settings, name, other)
    ]
    return bool(there) and all(one.reason == GONE and one.version is None for one in there)


def told(settings: Settings, state: GoldState) -> list[str]:
    """Sentences about tables that a full refresh did not build, once it is done."""
    built = [table.name for table in state.tables.values() if table.reason != GONE]
    return [
        f"{table.name} was not built anew: {table.reason} Its gold table stays as it was; remove it"
        " by hand if nobody needs it."
        for _, table in sorted(state.tables.items())
        if table.reason in (GONE, LEFT_OUT)
        and not table.held
        # Else what is at its place is another's now.
        and not any(one != table.name and is_same_place(settings, one, table.name) for one in built)
    ]
