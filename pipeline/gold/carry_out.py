"""Carry out one plan of gold: apply every table, publish the cut, record the batch."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass

from pyspark.sql import SparkSession

from pipeline.catalog import TableName
from pipeline.catalog.alter.items import TimelineItem
from pipeline.errors import BinlakeError, ConcurrentRunError
from pipeline.gold.apply.apply import Applied, Batch, apply_tables
from pipeline.gold.apply.seed_rows import seed_facts, seeds_in
from pipeline.gold.cascades.store import kept
from pipeline.gold.changes.drift import in_all, watch
from pipeline.gold.changes.small_batch import Few, are_few
from pipeline.gold.plan.cut import Cut, publish, published_at
from pipeline.gold.plan.rebuild import (
    begins_refresh,
    carry_out,
    is_overtaken,
    published_before,
    require_all_of_silver,
    set_aside,
)
from pipeline.gold.plan.stopped_tables import Stop, state_after_stops
from pipeline.gold.plan.table_refresh import refreshed_in
from pipeline.gold.planning import Seen, look
from pipeline.gold.schema.renames import connected_groups
from pipeline.gold.table.state import NO_LSN, GoldState, TableState
from pipeline.lake import Ledger
from pipeline.lake.child_sessions import interpreted
from pipeline.lake.ledger.ledger import Plan
from pipeline.observe import Progress
from pipeline.settings import Settings


@dataclass(frozen=True, slots=True)
class Executed:
    """Changes applied, by `schema.table`.

    `refused`: some tables were stopped. `set_aside`: a full refresh begins in place of the batch.
    """

    changes: Mapping[str, int]
    refused: bool = False
    set_aside: bool = False


def execute(
    spark: SparkSession,
    settings: Settings,
    ledger: Ledger,
    plan: Plan,
    progress: Progress,
    seen: Seen | None = None,
    *,
    rebuild_all: bool = False,
) -> Executed:
    """Apply the plan and record it.

    `seen` is what this run read in order to plan, and saves reading it again; the plan itself may
    come from another run. If another run finishes the same plan first, that is not an error. The
    plan is set aside if a full refresh has emptied silver since, or if it fails for good while
    gold is to be rebuilt (`rebuild_all`).
    """
    state = GoldState.from_body(plan.body)
    if begins_refresh(plan):
        carry_out(ledger, plan)
        return Executed({}, set_aside=True)
    try:
        if not is_overtaken(ledger, state):
            return _execute(spark, settings, ledger, plan, progress, seen)
    except Exception as error:
        if ledger.finished_by_another(plan):
            return Executed({})
        passes = isinstance(error, BinlakeError) and error.retryable
        if not is_overtaken(ledger, state):
            if passes or not rebuild_all:
                raise
            require_all_of_silver(ledger)
    set_aside(spark, settings, ledger, plan)
    return Executed({}, set_aside=True)


def _execute(
    spark: SparkSession,
    settings: Settings,
    ledger: Ledger,
    plan: Plan,
    progress: Progress,
    seen: Seen | None,
) -> Executed:
    state = GoldState.from_body(plan.body)
    record = ledger.record("gold")
    touched = [table for table in state.tables.values() if table.touched]
    before = GoldState.of(ledger)
    fresh = seen is not None and ledger.wrote(plan)
    watching = watch(settings.drift, plan.batch, len(touched), fresh=fresh)
    low = min([before.cut_lsn, *(table.from_lsn for table in touched)])
    moved = seen.moved if seen else {}
    if seen is None or seen.facts.low > low or seen.facts.high != state.cut_lsn:
        xa_from = NO_LSN if refreshed_in(state, plan.batch) else before.xa_from
        seen = look(spark, settings, low, state.cut_lsn, xa_from)
    facts = seen.facts
    few = Few(facts.changes, interpreted(spark)) if are_few(facts) else None
    items = _by_table(seen.items)
    batch = Batch(
        plan.batch,
        state.drop_rows,
        facts.skipped,
        facts.prepared,
        state.mark_faults,
        watching,
        few,
        kept(spark, settings.layout, state.cascades),
        state.rebuild.batch,
        seed_facts(spark, settings, seeds_in(touched, items), state.cut_lsn),
    )

    with progress.task("apply", len(touched), "tables") as task:

        def apply(tables: Sequence[TableState]) -> Applied | BinlakeError:
            try:
                return apply_tables(spark, settings, batch, tables, items)
            except BinlakeError as error:
                return error  # raised once the other tables are done
            finally:
                task.advance(len(tables))

        with ThreadPoolExecutor(settings.parallel_tables) as pool:
            outcomes = list(pool.map(apply, _connected(state, touched, items)))
    applied: dict[str, int] = {}
    stops: list[Stop] = []
    for outcome in outcomes:
        if isinstance(outcome, BinlakeError):
            raise outcome
        applied.update({str(name): count for name, count in outcome.changes.items()})
        stops.extend(outcome.stops)
    if stops:
        state = state_after_stops(state, before, stops, facts.prepared)
    looking = few.looking if few else spark
    # Otherwise the cut could contain rows read from silver while a full refresh was emptying it.
    ledger.refresh()
    if is_overtaken(ledger, state):
        began = f"A full refresh of silver began after gold's batch {plan.batch} was planned"
        reason = f"{began}: no cut is published."
        raise ConcurrentRunError(reason, remedy="Run it again.")
    published = publish(spark, settings, state, facts, Cut.of(record), plan.batch, looking, moved)
    stopped = bool(stops) or published.state is not state
    state = published.state
    done = {
        "changes": applied,
        "held": state.held(),
        "cut": asdict(published.cut),
        "cut_lsn": state.cut_lsn,
        "published_at": published_at(
            record, max(before.cut_lsn, before.rebuild.upto), state.cut_lsn, facts
        ),
        "drift": in_all((record or {}).get("drift"), watching.found if watching else {}),
        "written": {name: asdict(figures) for name, figures in published.written.items()},
    }
    if state.rebuild.under_way:
        done["published"] = published_before(record)
    ledger.finish(plan, {**done, "standing": state.overrides()} if stopped else done)
    return Executed(applied, refused=stopped)


def _connected(
    state: GoldState,
    touched: Sequence[TableState],
    items: Mapping[TableName, Sequence[TimelineItem]],
) -> list[list[TableState]]:
    """Group the tables: tables that RENAMEs in the batch connect are applied together."""
    pairs = [
        (table.name, item.other)
        for table in touched
        for item in items.get(table.name, ())
        if item.other is not None and table.from_lsn < item.lsn <= table.to_lsn
    ]
    groups = connected_groups([table.name for table in touched], pairs)
    return [[state.tables[name] for name in group] for group in groups]


def _by_table(items: Sequence[TimelineItem]) -> dict[TableName, list[TimelineItem]]:
    found: dict[TableName, list[TimelineItem]] = defaultdict(list)
    for item in items:
        found[item.name].append(item)
    return found
