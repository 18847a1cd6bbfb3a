"""Plan the next batch of silver: survey bronze's segments after the last batch."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any, NamedTuple

from decoder import TableDefinition
from pipeline.bronze import read_files
from pipeline.lake.ledger.history_removed import removed
from pipeline.layer import LayerRun
from pipeline.schema_history import TableName, Timeline
from pipeline.schema_history.alter.items import Position, TimelineItem
from pipeline.schema_history.timeline.stored_timeline import read_items
from pipeline.schema_history.timeline.timeline import Shown, TimelineOptions
from pipeline.silver.decode import segment_refs
from pipeline.silver.decode.segment_refs import FilePosition, SegmentRef, log_number
from pipeline.silver.decode.table_names import TableNames
from pipeline.silver.plan import take_seeds as seeding
from pipeline.silver.plan.batch_plan import (
    FROM_START,
    Refresh,
    Retried,
    SilverPlan,
    planned_tables,
)
from pipeline.silver.plan.known_tables import (
    beginning,
    beginnings,
    locate,
    needed_readings,
    waits_for,
)
from pipeline.silver.plan.late_names import late_names
from pipeline.silver.plan.new_segments import AvailableSegments, new_segments
from pipeline.silver.plan.progress import require_unclaimed, silver_progress
from pipeline.silver.plan.stored_seeds import seed_ids
from pipeline.silver.plan.survey import definitions, find, in_log_order, timeline_options
from pipeline.silver.tables.quarantine import accepted_gaps, retryable
from pipeline.source.logs.kept_statements import kept

FIRST_NUMBER = 1


class Next(NamedTuple):
    """The next batch, or None if there is nothing new.

    `gaps`: sentences about the gaps at which it ends. `more`: bronze has more than fits the batch.
    `notes`: about seeds that wait; `faults`: about refused seeds.
    """

    plan: SilverPlan | None
    gaps: tuple[str, ...]
    more: bool = False
    notes: tuple[str, ...] = ()
    faults: tuple[str, ...] = ()


def next_plan(run: LayerRun) -> Next:
    """Plan the part of bronze after silver's position that fits one batch."""
    settings, of_source = run.settings, (run.spark, run.lake, run.source)
    progress = silver_progress(run.ledger)
    before, refresh = progress.plan, progress.refresh
    whole = new_segments(*of_source, before, settings.given_up)
    if not whole.segments:
        found = _seeds_alone(run, before, whole)
        return found._replace(gaps=whole.gaps or _waiting_for_log(refresh, before))
    new = whole.portion(settings.segments.batch)
    from_start = before.from_start if before else _is_first(new.segments[0])
    past = read_items(*of_source)
    seeds = seeding.waiting(settings, past)
    options = timeline_options(settings, from_start=from_start)
    timeline = Timeline(past, options, seeding.definitions(seeds))
    search = partial(find, run, seen=whole.seen)
    rows = search(new.segments)
    needed = needed_readings(kept(run.lake, run.source), timeline)
    uses_files = settings.definitions or seeds or needed
    files = read_files(*of_source) if uses_files else []
    # a file name may repeat, after RESET or on another server: the start is in the first log
    ordinals = {row.file: row.ordinal for row in reversed(files)}
    start = beginning(settings, ordinals, new.start, new.end, first=before is None)
    all_there = seeding.SilverReached(0, whole.end, files, not whole.gaps)
    readings = locate(needed, all_there, new.start, settings.given_up)
    later = whole.segments[len(new.segments) :]
    known = beginnings(readings, timeline, new.start, rows, later, search)
    here = (one for one in known if one.lsn < segment_refs.lsn_of(new.end))
    surveyed = in_log_order(rows, timeline, [*filter(None, [start]), *here])
    if before is None and (reason := waits_for(readings.to_come, rows, timeline)):
        return Next(None, (reason, *whole.gaps))
    last_lsn = surveyed.last_lsn
    if last_lsn is None:
        last_lsn = before.last_lsn if before else 0
    reached = seeding.SilverReached(
        last_lsn, new.end, files, _is_all_of_bronze(new), removed(run.ledger).lsn
    )
    taken = seeding.take(settings, seeds, timeline, past, reached)
    passed = {str(item.name): item.seed.lsn for item in taken.items if item.seed}
    plan = SilverPlan(
        start=new.start,
        end=new.end,
        last_lsn=last_lsn,
        from_start=from_start,
        tables=surveyed.tables,
        names=surveyed.names,
        items=(*surveyed.items, *taken.items),
        faults=(*accepted_gaps(new.given_up), *not_passed(surveyed.faults, passed)),
        conf=settings.decoding,
        seen=new.seen,
        executed=new.executed,
        refresh=refresh.after(new.end, more=new.more),
    )
    require_unclaimed(run, plan.table_names)
    gaps = new.gaps if new.more else new.gaps or _waiting_for_log(plan.refresh, plan)
    return Next(plan, gaps, new.more, taken.notes, taken.faults)


def not_passed(
    faults: Iterable[dict[str, Any]], seeds: Mapping[str, int]
) -> Iterator[dict[str, Any]]:
    """Yield faults of definitions, except those of tables before the LSNs of their `seeds`."""
    for fault in faults:
        lsns = [seeds.get(name, -1) for name in fault["tables"] or ("",)]
        if not all(fault["__lsn"] <= lsn for lsn in lsns):
            yield fault


def _is_all_of_bronze(new: AvailableSegments) -> bool:
    """Return True if the new segments are all that bronze has."""
    return not (new.more or new.gaps)


def _seeds_alone(run: LayerRun, before: SilverPlan | None, new: AvailableSegments) -> Next:
    """Plan a batch without segments, for seeds at positions that silver has already passed."""
    settings, of_source = run.settings, (run.spark, run.lake, run.source)
    if before is None or not seed_ids(run.lake, run.source):
        return Next(None, ())
    past = read_items(*of_source)
    if not (seeds := seeding.waiting(settings, past)):
        return Next(None, ())
    timeline = Timeline(past, timeline_options(settings, from_start=before.from_start))
    files = read_files(*of_source)
    lsn = removed(run.ledger).lsn
    reached = seeding.SilverReached(before.last_lsn, before.end, files, _is_all_of_bronze(new), lsn)
    readings = locate(needed_readings(kept(run.lake, run.source), timeline), reached, before.end)
    declared = in_log_order([], timeline, beginnings(readings, timeline, before.end, ()))
    taken = seeding.take(settings, seeds, timeline, past, reached)
    if not taken.items:
        return Next(None, (), notes=taken.notes, faults=taken.faults)
    plan = replace(before.at_its_end(), items=(*declared.items, *taken.items))
    require_unclaimed(run, plan.table_names)
    return Next(plan, (), notes=taken.notes, faults=taken.faults)


def _waiting_for_log(refresh: Refresh, last: SilverPlan | None) -> tuple[str, ...]:
    """Explain why a full refresh cannot continue, if there is no gap that does."""
    end = last.end if last else FROM_START
    if not refresh.under_way or end >= refresh.upto:
        return ()
    ends = f"Bronze ends at {_described(end)}, but silver had reached {_described(refresh.upto)}"
    return (f"{ends}. The full refresh waits for the missing part of the log.",)


def _described(position: FilePosition) -> str:
    return f"byte {position[1]} of file number {position[0]}"


def retry_plan(run: LayerRun) -> tuple[SilverPlan | None, tuple[str, ...]]:
    """Plan a batch that retries quarantined transactions, or return None.

    Also return sentences about what cannot be retried.
    """
    before = silver_progress(run.ledger).plan
    if before is None:
        return None, ()
    of_source = run.spark, run.lake, run.source
    options = timeline_options(run.settings, from_start=before.from_start)
    items = read_items(*of_source)
    late = late_names(run, items, options, before.end)
    held = with_places(retryable(*of_source), late.places)
    if not held:
        return None, late.gaps
    items += late.items
    refs = segment_refs.at(*of_source, [(r.ordinal, r.start_pos) for r in held])
    shown = definitions(find(run, refs, apart=True))
    known = [_known_at(items, options, position, definition) for position, definition in shown]
    plan = replace(
        before.at_its_end(),
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
        conf=run.settings.decoding,
    )
    return plan, late.gaps


def with_places(held: Iterable[Retried], places: Iterable[FilePosition]) -> tuple[Retried, ...]:
    """Return the segments with faults and those at `places`, in order."""
    found = {(one.ordinal, one.start_pos): one for one in held}
    for ordinal, start in places:
        found.setdefault((ordinal, start), Retried(ordinal, start, ()))
    return tuple(found[place] for place in sorted(found))


def _known_at(
    items: Sequence[TimelineItem],
    options: TimelineOptions,
    position: Position,
    shown: TableDefinition,
) -> Shown | None:
    """Return the definition and version of rows under a table map at its position."""
    name = TableName(shown.schema, shown.table)
    past = (item for item in items if item.name == name and item.position <= position)
    return Timeline(past, options).known(shown)


def _is_first(segment: SegmentRef) -> bool:
    """Return True if the segment begins a server's first log: `binlog.000001`."""
    return log_number(segment.file) == FIRST_NUMBER and segment.start_pos == 0
