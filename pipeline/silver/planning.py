"""The next plan of silver: what bronze has after the mark, surveyed."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any, NamedTuple

from decoder import TableDefinition
from pipeline.bronze import read_files
from pipeline.bronze.executed_gtids import Executed
from pipeline.catalog import TableName, Timeline
from pipeline.catalog.alter.items import Position, TimelineItem
from pipeline.catalog.timeline.definitions import read_items
from pipeline.catalog.timeline.timeline import CatalogOptions, Shown
from pipeline.lake import Lake, Ledger
from pipeline.lake.ledger.history_removed import removed
from pipeline.lake.starting import Spark
from pipeline.observe import Progress
from pipeline.settings import Settings
from pipeline.silver.decode import segments
from pipeline.silver.decode.segments import Mark, SegmentRef, log_number
from pipeline.silver.decode.table_names import TableNames
from pipeline.silver.plan import take_seeds as seeding
from pipeline.silver.plan.batch_plan import Retried, SilverPlan, planned_tables
from pipeline.silver.plan.known_tables import beginnings, locate, telling, waits_for
from pipeline.silver.plan.late_names import late_names
from pipeline.silver.plan.progress import silver_standing
from pipeline.silver.plan.refresh import FROM_START, Refresh
from pipeline.silver.plan.seeds import seed_ids
from pipeline.silver.plan.seen_before import Recognised, left_behind, recognise
from pipeline.silver.plan.start_definitions import beginning
from pipeline.silver.plan.survey import catalog_options, definitions, find, in_log_order
from pipeline.silver.plan.table_owner import require_unclaimed
from pipeline.silver.tables.quarantine import given_up, retryable
from pipeline.source.logs.kept_statements import kept

FIRST_NUMBER = 1


class Next(NamedTuple):
    """The next batch, or None if there is nothing new.

    `gaps` end it; `more`: whether bronze has more than fits it. `notes`: seeds that wait; `faults`:
    those that are refused.
    """

    plan: SilverPlan | None
    gaps: tuple[str, ...]
    more: bool = False
    notes: tuple[str, ...] = ()
    faults: tuple[str, ...] = ()


def next_plan(spark: Spark, settings: Settings, ledger: Ledger, progress: Progress) -> Next:
    """What bronze has after silver's mark, as much as fits a batch."""
    lake = settings.layout
    standing = silver_standing(ledger)
    before, refresh = standing.plan, standing.refresh
    whole = what_is_new(spark, lake, settings.source, before, settings.given_up)
    if not whole.segments:
        found = _seeds_alone(spark, settings, ledger, before, whole)
        return found._replace(gaps=whole.gaps or _waits(refresh, before))
    new = whole.portion(settings.segments.batch)
    from_start = before.from_start if before else _is_first(new.segments[0])
    past = read_items(spark, lake, settings.source)
    seeds = seeding.waiting(settings, past)
    options = catalog_options(settings, from_start=from_start)
    timeline = Timeline(past, options, seeding.definitions(seeds))
    search = partial(find, spark, settings, progress=progress, seen=whole.seen)
    rows = search(new.segments)
    told = telling(kept(lake, settings.source), timeline)
    needed = settings.definitions or seeds or told
    files = read_files(spark, lake, settings.source) if needed else []
    # a name may come again, after RESET or of another server: the start is in the first log
    ordinals = {row.file: row.ordinal for row in reversed(files)}
    start = beginning(settings, ordinals, new.start, new.end, first=before is None)
    all_there = seeding.Reached(0, whole.end, files, not whole.gaps)
    readings = locate(told, all_there, new.start, settings.given_up)
    later = whole.segments[len(new.segments) :]
    known = beginnings(readings, timeline, new.start, rows, later, search)
    here = (one for one in known if one.lsn < segments.lsn_of(new.end))
    surveyed = in_log_order(rows, timeline, [*filter(None, [start]), *here])
    if before is None and (reason := waits_for(readings.to_come, rows, timeline)):
        return Next(None, (reason, *whole.gaps))
    cut = surveyed.cut_lsn if surveyed.cut_lsn is not None else before.cut_lsn if before else 0
    reached = seeding.Reached(cut, new.end, files, _to_the_end(new), removed(ledger).lsn)
    taken = seeding.take(settings, seeds, timeline, past, reached)
    passed = {str(item.name): item.seed.lsn for item in taken.items if item.seed}
    plan = SilverPlan(
        start=new.start,
        end=new.end,
        cut_lsn=cut,
        from_start=from_start,
        tables=surveyed.tables,
        names=surveyed.names,
        items=(*surveyed.items, *taken.items),
        faults=(*given_up(new.given_up), *not_passed(surveyed.faults, passed)),
        conf=settings.decoding,
        seen=new.seen,
        executed=new.executed,
        refresh=refresh.behind(new.end, more=new.more),
    )
    require_unclaimed(spark, ledger, plan.table_names)
    gaps = new.gaps if new.more else new.gaps or _waits(plan.refresh, plan)
    return Next(plan, gaps, new.more, taken.notes, taken.faults)


def not_passed(
    faults: Iterable[dict[str, Any]], seeds: Mapping[str, int]
) -> Iterator[dict[str, Any]]:
    """Faults of definitions, without those of tables before the LSNs of their `seeds`."""
    for fault in faults:
        lsns = [seeds.get(name, -1) for name in fault["tables"] or ("",)]
        if not all(fault["__lsn"] <= lsn for lsn in lsns):
            yield fault


def _to_the_end(new: Recognised) -> bool:
    """Whether what is new is all that bronze has."""
    return not (new.more or new.gaps)


def _seeds_alone(
    spark: Spark,
    settings: Settings,
    ledger: Ledger,
    before: SilverPlan | None,
    new: Recognised,
) -> Next:
    """A batch without segments, for seeds that have come since silver was behind their places."""
    lake = settings.layout
    if before is None or not seed_ids(lake, settings.source):
        return Next(None, ())
    past = read_items(spark, lake, settings.source)
    if not (seeds := seeding.waiting(settings, past)):
        return Next(None, ())
    timeline = Timeline(past, catalog_options(settings, from_start=before.from_start))
    files = read_files(spark, lake, settings.source)
    lsn = removed(ledger).lsn
    reached = seeding.Reached(before.cut_lsn, before.end, files, _to_the_end(new), lsn)
    readings = locate(telling(kept(lake, settings.source), timeline), reached, before.end)
    told = in_log_order([], timeline, beginnings(readings, timeline, before.end, ()))
    taken = seeding.take(settings, seeds, timeline, past, reached)
    if not taken.items:
        return Next(None, (), notes=taken.notes, faults=taken.faults)
    plan = replace(before.at_its_end(), items=(*told.items, *taken.items))
    require_unclaimed(spark, ledger, plan.table_names)
    return Next(plan, (), notes=taken.notes, faults=taken.faults)


def _waits(refresh: Refresh, last: SilverPlan | None) -> tuple[str, ...]:
    """What is told of a full refresh that can go no further where no gap says why."""
    end = last.end if last else FROM_START
    if not refresh.under_way or end >= refresh.upto:
        return ()
    told = f"Bronze ends at {_in_words(end)}, and silver had come to {_in_words(refresh.upto)}"
    return (f"{told}: the full refresh waits for what is missing.",)


def _in_words(mark: Mark) -> str:
    return f"byte {mark[1]} of file number {mark[0]}"


def what_is_new(
    spark: Spark,
    lake: Lake,
    source: str,
    before: SilverPlan | None,
    given_up: Collection[int],
) -> Recognised:
    """What bronze has behind silver's last plan, up to the first gap; and all gaps."""
    files = {row.ordinal: row for row in read_files(spark, lake, source)}
    mark = before.end if before else None
    executed = before.executed if before else Executed()
    found = segments.pending(spark, lake, source, files, mark, executed, given_up)
    new = recognise(found, files, given_up)
    return replace(new, gaps=(*new.gaps, *left_behind(files, mark, executed)))


def retry_plan(
    spark: Spark, settings: Settings, ledger: Ledger, progress: Progress
) -> tuple[SilverPlan | None, tuple[str, ...]]:
    """A batch that takes up what faults hold, or None if there is nothing that could be; and
    sentences about what cannot be taken up."""
    lake = settings.layout
    before = silver_standing(ledger).plan
    if before is None:
        return None, ()
    options = catalog_options(settings, from_start=before.from_start)
    items = read_items(spark, lake, settings.source)
    late = late_names(spark, settings, items, options, before.end, progress)
    held = with_places(retryable(spark, lake, settings.source), late.places)
    if not held:
        return None, late.gaps
    items += late.items
    refs = segments.at(spark, lake, settings.source, [(r.ordinal, r.start_pos) for r in held])
    shown = definitions(find(spark, settings, refs, progress, apart=True))
    known = [_known_at(items, options, position, definition) for position, definition in shown]
    plan = SilverPlan(
        start=before.end,
        end=before.end,
        cut_lsn=before.cut_lsn,
        from_start=before.from_start,
        tables=planned_tables(found for found in known if found is not None),
        names=TableNames.of(
            (position, definition, found.definition)
            for (position, definition), found in zip(shown, known, strict=True)
            if found is not None
        ),
        items=late.items,
        faults=late.faults,
        retried=held,
        again=tuple(sorted(map(str, late.tables))),
        passed=late.passed,
        conf=settings.decoding,
        executed=before.executed,
        refresh=before.refresh,
    )
    return plan, late.gaps


def with_places(held: Iterable[Retried], places: Iterable[Mark]) -> tuple[Retried, ...]:
    """The segments with faults, and those at `places`, in order."""
    found = {(one.ordinal, one.start_pos): one for one in held}
    for ordinal, start in places:
        found.setdefault((ordinal, start), Retried(ordinal, start, ()))
    return tuple(found[place] for place in sorted(found))


def _known_at(
    items: Sequence[TimelineItem],
    options: CatalogOptions,
    position: Position,
    shown: TableDefinition,
) -> Shown | None:
    """What rows under a table map are kept as, by the definitions in force where it stands."""
    name = TableName(shown.schema, shown.table)
    past = (item for item in items if item.name == name and item.position <= position)
    return Timeline(past, options).known(shown)


def _is_first(segment: SegmentRef) -> bool:
    """Whether it begins the first log that a server wrote: `binlog.000001`."""
    return log_number(segment.file) == FIRST_NUMBER and segment.start_pos == 0
