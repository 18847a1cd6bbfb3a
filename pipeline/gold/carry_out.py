"""Carry out one plan of gold: apply every table, publish the snapshot, record the batch."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass, replace
from typing import TypeAlias

from pipeline.errors import BinlakeError, ConcurrentRunError
from pipeline.gold.apply.apply import GoldBatch, apply_tables
from pipeline.gold.apply.seed_rows import seed_facts
from pipeline.gold.cascades.cascades_table import kept
from pipeline.gold.changes.drift import drift_sample, in_all
from pipeline.gold.changes.small_batch import Few, are_few
from pipeline.gold.next_batch import Seen, facts_of, timeline
from pipeline.gold.plan import rebuild
from pipeline.gold.plan.publication import Cut, publish, published_at
from pipeline.gold.plan.stopped_tables import StoppedTable, state_after_stops
from pipeline.gold.plan.table_refresh import refreshed_in
from pipeline.gold.schema.renames import connected_groups
from pipeline.gold.table.state import NO_LSN, GoldState, TableState
from pipeline.lake.child_sessions import interpreted, master_of
from pipeline.lake.lazy_spark import (
    Spark,
    SparkNeededError,
    StartingSpark,
    running,
    started,
    unstarted,
)
from pipeline.lake.ledger.ledger import Plan
from pipeline.layer import Done, LayerRun
from pipeline.observe.progress import Task
from pipeline.schema_history import TableName
from pipeline.schema_history.alter.items import TimelineItem


@dataclass(frozen=True, slots=True, kw_only=True)
class Applied(Done):
    """The result of a plan; `counts`: changes applied, by `schema.table`.

    `refused`: some tables were stopped. `set_aside`: a full refresh begins in place of the batch.
    """

    refused: bool = False
    set_aside: bool = False


def carry_out(
    run: LayerRun, plan: Plan, *, seen: Seen | None = None, rebuild_all: bool = False
) -> Applied:
    """Apply the plan and record it.

    `seen`: data that this run has already read to plan; the plan itself may come from another
    run. If another run finishes the same plan first, that is not an error. The
    plan is set aside if a full refresh has emptied silver since, or if it fails for good while
    gold is to be rebuilt (`rebuild_all`).
    """
    state, ledger = GoldState.from_body(plan.body), run.ledger
    if rebuild_all:
        started(run.spark)  # if that fails, nothing is set aside
    if rebuild.begins_refresh(plan):
        rebuild.carry_out(ledger, plan)
        return Applied(plan=plan, counts={}, set_aside=True)
    try:
        if not rebuild.is_overtaken(ledger, state):
            return _apply(run, plan, state, seen)
    except Exception as error:
        if ledger.finished_by_another(plan):
            return Applied(plan=plan, counts={})
        passes = isinstance(error, BinlakeError) and error.retryable
        if not rebuild.is_overtaken(ledger, state):
            if passes or not rebuild_all:
                raise
            rebuild.require_all_of_silver(ledger)
    rebuild.set_aside(run, plan)
    return Applied(plan=plan, counts={}, set_aside=True)


def _apply(run: LayerRun, plan: Plan, state: GoldState, seen: Seen | None) -> Applied:
    """Apply all tables, publish the resulting snapshot, and record the batch."""
    ledger = run.ledger
    before, record = GoldState.of(ledger), ledger.record("gold")
    batch = _batch(run, plan, state, before, seen)
    changes, stops = _apply_tables(batch)
    if stops:
        state = state_after_stops(state, before, stops, batch.facts.prepared)
    # Otherwise the snapshot could contain rows read from silver while a full refresh emptied it.
    ledger.refresh()
    if rebuild.is_overtaken(ledger, state):
        began = f"A full refresh of silver began after gold's batch {plan.batch} was planned"
        reason = f"{began}: no snapshot is published."
        raise ConcurrentRunError(reason, remedy="Run it again.")
    session = batch.few.session if batch.few else run.spark
    moved = seen.moved if seen else {}
    cut, written, published = publish(
        run, state, batch.facts, Cut.of(record), plan.batch, session, moved
    )
    stopped = bool(stops) or published is not state
    state = published
    reached = max(before.cut_lsn, before.rebuild.upto)
    drifts = batch.drift_sample.found if batch.drift_sample else {}
    done = {
        "changes": changes,
        "held": state.held(),
        "cut": asdict(cut),
        "cut_lsn": state.cut_lsn,
        "published_at": published_at(record, reached, state.cut_lsn, batch.facts),
        "drift": in_all((record or {}).get("drift"), drifts),
        "written": {name: asdict(figures) for name, figures in written.items()},
    }
    if state.rebuild.under_way:
        done["published"] = rebuild.published_before(record)
    ledger.finish(plan, {**done, "state": state.overrides()} if stopped else done)
    counts = {name: count for name, count in changes.items() if count}
    return Applied(plan=plan, counts=counts, refused=stopped)


def _batch(
    run: LayerRun, plan: Plan, state: GoldState, before: GoldState, seen: Seen | None
) -> GoldBatch:
    """Return the input for applying the plan; read what `seen` lacks."""
    touched = [table for table in state.tables.values() if table.touched]
    fresh = seen is not None and run.ledger.wrote(plan)
    low = min([before.cut_lsn, *(table.from_lsn for table in touched)])
    if seen is None or seen.facts.low > low or seen.facts.high != state.cut_lsn:
        xa_from = NO_LSN if refreshed_in(state, plan.batch) else before.xa_from
        seen = Seen(timeline(run), facts_of(run, low, state.cut_lsn, xa_from))
    items: dict[TableName, list[TimelineItem]] = defaultdict(list)
    for item in seen.items:
        items[item.name].append(item)
    return GoldBatch(
        run,
        plan.batch,
        state,
        touched,
        items,
        seen.facts,
        seed_facts(run, touched, items, state.cut_lsn),
        kept(run.spark, run.lake, state.cascades),
        drift_sample(run.settings.drift, plan.batch, len(touched), fresh=fresh),
        Few(seen.facts.changes, _interpreted_session(run)) if are_few(seen.facts) else None,
    )


def _interpreted_session(run: LayerRun) -> Spark:
    """Return a session without code generation; unless Spark runs already, it starts when it is
    first needed."""
    spark = run.spark
    if not isinstance(spark, StartingSpark):
        return interpreted(spark)
    return StartingSpark(lambda: interpreted(started(spark)), spark.master)


def _apply_tables(batch: GoldBatch) -> tuple[dict[str, int], list[StoppedTable]]:
    """Apply all tables, several in parallel; return the numbers of changes, and the stops.

    Tables that need no Spark come first. Then it starts in this thread, so that an interrupt ends
    its start.
    """
    run, groups = batch.run, _connected(batch)
    with run.progress.task("applying changes", len(batch.touched), "tables") as task:
        outcomes: list[_Outcome] = []
        if running(run.spark) is None:
            first = replace(batch, run=replace(run, spark=unstarted(master_of(run.spark))))
            found = _apply_groups(first, groups, task)
            groups = [group for group, outcome in zip(groups, found, strict=True) if not outcome]
            outcomes += [outcome for outcome in found if outcome]
        if groups:
            started(run.spark)
            outcomes += [outcome for outcome in _apply_groups(batch, groups, task) if outcome]
    changes: dict[str, int] = {}
    stops: list[StoppedTable] = []
    for outcome in outcomes:
        if isinstance(outcome, BinlakeError):
            raise outcome
        applied, stopped = outcome
        changes.update({str(name): count for name, count in applied.items()})
        stops.extend(stopped)
    return changes, stops


_Outcome: TypeAlias = tuple[Mapping[TableName, int], Sequence[StoppedTable]] | BinlakeError
"""See `apply_tables`; an error is raised once the other tables are done."""


def _apply_groups(
    batch: GoldBatch, groups: Sequence[Sequence[TableState]], task: Task
) -> list[_Outcome | None]:
    """Apply groups of connected tables in parallel; None for those that need Spark, if it is not
    started. Steps that such a group committed are kept, and not repeated."""

    def apply(tables: Sequence[TableState]) -> _Outcome | None:
        outcome: _Outcome
        try:
            outcome = apply_tables(batch, tables)
        except SparkNeededError:
            return None
        except BinlakeError as error:
            outcome = error
        task.advance(len(tables))
        return outcome

    with ThreadPoolExecutor(batch.run.settings.parallel_tables) as pool:
        return list(pool.map(apply, groups))


def _connected(batch: GoldBatch) -> list[list[TableState]]:
    """Group the tables that RENAMEs in the batch connect, to apply them together."""
    pairs = [
        (table.name, item.other)
        for table in batch.touched
        for item in batch.items.get(table.name, ())
        if item.other is not None and table.from_lsn < item.lsn <= table.to_lsn
    ]
    groups = connected_groups([table.name for table in batch.touched], pairs)
    return [[batch.state.tables[name] for name in group] for group in groups]
