"""Plan gold's next batch from silver's last batch, the timeline and the open faults."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace

from pipeline.bronze import read_files
from pipeline.gold.apply.seed_rows import first_seed
from pipeline.gold.cascades.cascades_table import keep
from pipeline.gold.cascades.derivation import derive_cascades
from pipeline.gold.cascades.planned_batch import DerivedCascades, PlannedBatch
from pipeline.gold.cascades.reader import DamagedTableError, Reader
from pipeline.gold.changes.faults import open_faults
from pipeline.gold.changes.holds import OpenFault
from pipeline.gold.changes.log_facts import Facts, gather
from pipeline.gold.changes.xa import first_open, redefined
from pipeline.gold.plan.batch_plan import Known, plan_batch, same, touch
from pipeline.gold.plan.publication import published
from pipeline.gold.plan.rebuild import (
    after_batch,
    is_stale,
    replaces_gone_table,
    require_all_of_silver,
)
from pipeline.gold.plan.table_inspection import inspect
from pipeline.gold.plan.table_refresh import tables_to_refresh, with_reset, without
from pipeline.gold.plan.until import last_wanted
from pipeline.gold.plan.verification_points import next_verification_point
from pipeline.gold.schema.evolve import taken
from pipeline.gold.table.commits import signs
from pipeline.gold.table.damage import Damage
from pipeline.gold.table.names import gold_name, why_no_name
from pipeline.gold.table.state import NO_LSN, GoldState, Rebuild
from pipeline.lake import Ledger
from pipeline.lake.ledger.history_removed import Removed, removed
from pipeline.layer import LayerRun
from pipeline.schema_history import TableName
from pipeline.schema_history.alter.items import KINDS_IGNORED_BY_GOLD, TimelineItem, in_force
from pipeline.schema_history.timeline.stored_timeline import read_items
from pipeline.silver.plan.progress import silver_progress, silver_progress_ahead


@dataclass(frozen=True, slots=True)
class Seen:
    """The data read to plan a batch, reused to carry it out.

    `moved`: Delta versions of tables on which only maintenance has committed since the last
    published snapshot.
    """

    items: Sequence[TimelineItem]
    facts: Facts
    moved: Mapping[TableName, int] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Planned:
    """Gold's state after the next batch (`following`; None: nothing to do).

    `partly`: more batches follow, because foreign key cascades require this one to end early.
    `waits`: silver has transactions after the one given by `until`. `awaits_silver`: a full
    refresh of silver is in progress, or gold has not been rebuilt since the last one.
    """

    following: GoldState | None = None
    seen: Seen | None = None
    partly: bool = False
    waits: bool = False
    awaits_silver: bool = False


@dataclass(frozen=True, slots=True)
class Draft:
    """The next batch as decided without foreign key cascades, and its input.

    `start` is gold's state before it, `state` after it. `refreshed`: tables to rebuild from silver.
    `wanted`: LSN of the last transaction that gold may reach, in this batch or later ones;
    `decoded`: of silver's last one.
    """

    previous: GoldState
    start: GoldState
    state: GoldState
    known: Known
    seen: Seen
    refreshed: Collection[TableName]
    batch: int
    wanted: int
    decoded: int


def plan_next(
    run: LayerRun, *, again: bool = False, refresh: Collection[TableName] = ()
) -> Planned:
    """Plan the next batch.

    `again`: also retry refused changes. `refresh`: tables to rebuild from silver. Raise
    RefreshRefusedError if silver no longer has all of their changes.
    """
    if awaits_silver(run.ledger):
        return Planned(awaits_silver=True)
    draft = draft_next(run, again=again, refresh=refresh)
    if draft is None:
        return Planned()
    previous, state, known, seen = draft.previous, draft.state, draft.known, draft.seen
    waits, derived = draft.wanted < draft.decoded, DerivedCascades(known.upto)
    if not same(previous, state):
        # Rows of a table that is damaged or about to be emptied must not be used.
        unusable = {*known.damaged, *draft.refreshed}
        versions = without(published(run.ledger.record("gold")), unusable)
        state, derived = _with_cascades(run, draft.start, known, seen, versions)
    if same(previous, state):
        return Planned(_only_published(previous, state), seen, waits=waits)
    prepared = seen.facts.prepared
    decided = [p.tables for p in prepared if p.committed_in(previous.cut_lsn, state.cut_lsn)]
    reached = [table.to_lsn for table in state.tables.values()]
    partly = derived.again or state.cut_lsn < draft.wanted
    ends = not partly or (not derived.again and state.cut_held is not None)
    cascaded = {table for table, _ in derived.changes}
    state = replace(
        touch(state, seen.facts.changed.union(*decided), previous.cut_lsn, cascaded),
        xa_from=first_open(prepared, reached, state.cut_lsn),
        signed=signs(run.spark),
        rebuild=after_batch(previous.rebuild, ends=ends),
        cascades=keep(run.spark, run.lake, run.source, draft.batch, derived.changes),
    )
    return Planned(state, seen, partly, waits)


def awaits_silver(ledger: Ledger) -> bool:
    """Return True if a full refresh of silver is in progress, or gold was not rebuilt since."""
    return silver_progress_ahead(ledger).refresh.under_way or is_stale(ledger)


def draft_next(
    run: LayerRun, *, again: bool = False, refresh: Collection[TableName] = ()
) -> Draft | None:
    """Decide the next batch without cascades; None if silver has nothing. Writes nothing.

    Arguments and errors as of `plan_next`.
    """
    ledger = run.ledger
    previous, silver = GoldState.of(ledger), silver_progress(ledger)
    if silver.plan is None:
        return None
    if previous.rebuild.under_way:
        # Maintenance that ran while a batch was set aside did not see the refresh that began there.
        require_all_of_silver(ledger)
    last = ledger.last("gold")
    if last is None:
        built = silver.refresh.batch
        previous = replace(previous, rebuild=Rebuild(silver=built, reached=built))
    batch = last.batch + 1 if last else 1
    decoded = silver.plan.last_lsn
    wanted = last_wanted(run, run.settings.until, previous.cut_lsn, decoded)
    upto, seen = _look_ahead(run, previous, wanted)
    start = previous.without_refusals() if again else previous
    damaged, moved = inspect(run, start)
    refreshed = tables_to_refresh(run, start, refresh, damaged, seen.items, upto)
    if refreshed:
        start = with_reset(start, refreshed, batch)
        facts = facts_of(run, NO_LSN, upto, NO_LSN, previous_cut_lsn=previous.cut_lsn)
        seen = replace(seen, facts=facts)
    seen = replace(seen, moved=moved)
    damaged = without(damaged, refreshed)
    known = _known(run, silver.batch, upto, seen, previous, damaged)
    state = plan_batch(start, known, run.settings)
    return Draft(previous, start, state, known, seen, refreshed, batch, wanted, decoded)


def _look_ahead(run: LayerRun, previous: GoldState, wanted: int) -> tuple[int, Seen]:
    """Return the last LSN that the next batch may reach, and the data read up to there."""
    building = previous.rebuild.under_way
    upto = wanted if building else next_verification_point(run, previous.cut_lsn, wanted)
    # From the first held table on: a prepared transaction may hold it until it is decided.
    waiting = [table.to_lsn for table in previous.tables.values() if table.held]
    low = min([previous.cut_lsn, *waiting])
    items = timeline(run)
    upto = first_seed(items, previous.cut_lsn, upto)
    facts = facts_of(run, low, upto, previous.xa_from, previous_cut_lsn=previous.cut_lsn)
    return upto, Seen(items, facts)


def _known(
    run: LayerRun,
    silver_batch: int,
    upto: int,
    seen: Seen,
    previous: GoldState,
    damaged: Mapping[TableName, Damage],
) -> Known:
    """Return the input of the plan."""
    gone = removed(run.ledger)
    faults = [
        *open_faults(run.spark, run.lake, run.source),
        *seen.facts.undecided,
        *redefined(seen.facts.prepared, seen.items),
        *_with_lost_changes(gone, previous, seen.items),
        *_with_incomplete_seeds(gone, previous, seen.items),
    ]
    files = {row.ordinal: row.file for row in read_files(run.spark, run.lake, run.source)}
    places = _occupied(run, previous, seen.items)
    return Known(silver_batch, upto, seen.items, faults, places, files, damaged)


def _only_published(previous: GoldState, state: GoldState) -> GoldState | None:
    """Return the state of a batch without changes that publishes a finished full refresh."""
    if not previous.rebuild.under_way:
        return None
    return replace(
        state, xa_from=previous.xa_from, rebuild=after_batch(previous.rebuild, ends=True)
    )


def _with_lost_changes(
    gone: Removed, previous: GoldState, items: Sequence[TimelineItem]
) -> Iterator[OpenFault]:
    """Yield a fault for tables that were excluded and whose changes were removed since."""
    before = {item.name for item in items if item.lsn < gone.lsn and item.definition is not None}
    reached = {name: previous.tables[name].to_lsn for name in before if name in previous.tables}
    names = [name for name in before if reached.get(name, 0) < gone.lsn - 1]
    if names:
        yield OpenFault(gone.lsn - 1, gone.sentence, tuple(sorted(names)), marks_only=True)


def _with_incomplete_seeds(
    gone: Removed, previous: GoldState, items: Sequence[TimelineItem]
) -> Iterator[OpenFault]:
    """Yield a fault for tables with a new seed if changes that follow it have been removed."""
    for item in {item.name: item for item in items if item.seed}.values():
        table = previous.tables.get(item.name)
        taken = table is not None and item.seed is not None and table.seed == item.seed.id
        if item.seed and item.seed.lsn + 1 < gone.lsn and not taken:
            yield OpenFault(item.lsn, f"{gone.sentence}: seed it again", (item.name,))


def _with_cascades(
    run: LayerRun,
    start: GoldState,
    known: Known,
    seen: Seen,
    versions: Mapping[TableName, int],
) -> tuple[GoldState, DerivedCascades]:
    """Return the plan, ending early where foreign key cascades require it, and the cascades.

    A child table that this holds, or whose rows cannot be read, is left out.
    """
    items: dict[TableName, list[TimelineItem]] = defaultdict(list)
    for item in seen.items:
        items[item.name].append(item)
    reader = Reader(run.spark, run.settings, items, seen.facts, versions)
    again = False
    while True:
        state = plan_batch(start, known, run.settings)
        batch = PlannedBatch(
            state.tables, start.cut_lsn, state.cut_lsn, items, known.faults, known.files
        )
        try:
            derived = derive_cascades(run.settings, batch, reader)
        except DamagedTableError as met:
            known = replace(known, damaged={**known.damaged, met.name: met.damage})
            left = without(versions, known.damaged)
            reader = Reader(run.spark, run.settings, items, seen.facts, left)
            continue
        again = again or derived.again
        faults = [fault for fault in derived.faults if fault not in known.faults]
        if derived.cut_lsn == state.cut_lsn and not faults:
            return state, replace(derived, again=again)
        known = replace(known, upto=derived.cut_lsn, faults=[*known.faults, *faults])


def _occupied(
    run: LayerRun, previous: GoldState, items: Sequence[TimelineItem]
) -> Mapping[TableName, str]:
    """Return why a new gold table cannot be created, for each table whose place is occupied."""
    settings = run.settings
    own = {name for name, table in previous.tables.items() if table.version is not None}
    there = [name for name in own if not previous.tables[name].dropped]
    defined = {item.name for item in items if item.definition is not None}
    new = sorted(n for n in defined - own if settings.wanted(n.schema, n.table))

    def why(name: TableName) -> str | None:
        before = [*there, *new[: new.index(name)]]
        return why_no_name(settings, name, before) or taken(
            run.spark,
            gold_name(settings, name.schema, name.table),
            run.source,
            known=name in previous.tables or replaces_gone_table(settings, previous, name),
        )

    with ThreadPoolExecutor(settings.parallel_tables) as pool:
        found = zip(new, pool.map(why, new), strict=True)
        return {name: reason for name, reason in found if reason}


def timeline(run: LayerRun) -> list[TimelineItem]:
    """Return the items of the source's timeline that gold uses, in log order."""
    known = in_force(read_items(run.spark, run.lake, run.source))
    items = [item for item in known if item.kind not in KINDS_IGNORED_BY_GOLD]
    # Items written by `retry` are stored after later ones.
    items.sort(key=lambda item: item.position)
    return items


def facts_of(
    run: LayerRun, low: int, high: int, xa_from: int, *, previous_cut_lsn: int = 0
) -> Facts:
    """Return the facts of silver's transactions (see `gather`)."""
    return gather(
        run.spark, run.lake, run.source, low, high, xa_from, previous_cut_lsn=previous_cut_lsn
    )
