"""Planned state of every table after the next batch, without Spark.

All tables go to one LSN, that of silver's last transaction, except those with a hold: they stop
just before it. A hold before a table's last CREATE TABLE has no effect, since the new table has
none of the earlier rows.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace

from pipeline.gold.changes.holds import (
    OpenFault,
    fault_holds,
    item_holds,
    left_out_holds,
    options_holds,
    place_holds,
    refusal_holds,
    seed_holds,
)
from pipeline.gold.plan.reach import align_renames, moved_away, reach_of, states_after
from pipeline.gold.table.damage import Damage
from pipeline.gold.table.state import NO_LSN, GoldState, TableState
from pipeline.schema_history import TableName
from pipeline.schema_history.alter.items import TimelineItem
from pipeline.settings import Settings

LEFT_OUT = (
    "Some of its changes were excluded by the settings (include, exclude). To complete it, include"
    " it again, and then run binlake run --full-refresh or seed it."
)


@dataclass(frozen=True, slots=True)
class Known:
    """Input from the earlier layers: silver's last batch, the timeline, open faults.

    `upto`: the last LSN that the batch may reach. `taken`: why the place of a new gold table is
    occupied. `files`: names of the source's files by ordinal. `damaged`: gold tables that are
    damaged themselves.
    """

    silver_batch: int
    upto: int
    items: Sequence[TimelineItem]
    faults: Sequence[OpenFault]
    taken: Mapping[TableName, str] = field(default_factory=dict)
    files: Mapping[int, str] = field(default_factory=dict)
    damaged: Mapping[TableName, Damage] = field(default_factory=dict)


def plan_batch(previous: GoldState, known: Known, settings: Settings) -> GoldState:
    """Return the state after the next batch; `touched` only covers definitions (see `touch`)."""

    def included(name: TableName) -> bool:
        return settings.wanted(name.schema, name.table)

    cut_lsn, cut_held = _cut_lsn(previous, known, settings)
    items: dict[TableName, list[TimelineItem]] = defaultdict(list)
    for item in known.items:
        items[item.name].append(item)
    names = {*previous.tables, *filter(included, items)}
    # A fault may spell the name of a table differently.
    spelled = set(map(str, names))
    faulty = {name for fault in known.faults if fault.lsn <= cut_lsn for name in fault.tables or ()}
    names |= {name for name in faulty if str(name) not in spelled and included(name)}
    tables, reaches = {}, {}
    given = moved_away(known.items)
    for name in names:
        before = previous.tables.get(name, TableState(name.schema, name.table))
        if not included(name):
            tables[name] = before.at_rest(LEFT_OUT)
        elif damage := known.damaged.get(name):
            tables[name] = before.damaged(damage)
        else:
            before = before.recovered()
            refreshed = previous.rebuild.batch > 0
            holds = [
                *(left_out_holds(before, items[name]) if refreshed else ()),
                *item_holds(items[name], settings, known.files),
                *options_holds(before, items[name], settings),
                *place_holds(items[name], known.taken.get(name)),
                *fault_holds(known.faults, name, settings),
                *refusal_holds(before, settings, known.files),
            ]
            holds += seed_holds(items[name], holds)
            reaches[name] = reach_of(before, cut_lsn, items[name], sorted(holds), settings, given)
    tables.update(states_after(align_renames(reaches), settings))
    return GoldState(
        known.silver_batch,
        cut_lsn,
        cut_held,
        settings.on_drop == "drop",
        tables,
        mark_faults=settings.on_fault == "mark",
    )


def touch(
    state: GoldState,
    changed: Collection[str],
    previous_cut_lsn: int,
    cascaded: Collection[TableName] = (),
) -> GoldState:
    """Return the state with `touched` also set for tables that have rows to apply.

    `changed` are the tables (`schema.table`) with rows after `previous_cut_lsn`, `cascaded` those
    with foreign key cascades. A table that lags behind it is assumed to have some.
    """
    tables = {}
    for name, table in state.tables.items():
        moves = table.to_lsn > table.from_lsn
        rows = table.from_lsn < previous_cut_lsn or str(name) in changed
        touched = table.touched or name in cascaded or (moves and rows)
        tables[name] = replace(table, touched=touched)
    return replace(state, tables=tables)


def same(previous: GoldState, planned: GoldState) -> bool:
    """Return True if the plan would change nothing."""

    def essence(state: GoldState) -> object:
        return (
            state.cut_lsn,
            state.cut_held,
            {n: _essentials(t) for n, t in state.tables.items()},
        )

    return essence(previous) == essence(planned)


def _essentials(table: TableState) -> TableState:
    """Return the table's state without the details of how it got there."""
    return replace(
        table, from_lsn=NO_LSN, touched=False, complete_from=False, marked=(), taken_over=()
    )


def _cut_lsn(previous: GoldState, known: Known, settings: Settings) -> tuple[int, str | None]:
    """Return the LSN that all tables go to, and why it is not silver's last, if so."""
    everywhere = [f for f in known.faults if f.tables is None and not f.marks(settings)]
    after = [f for f in everywhere if previous.cut_lsn < f.lsn <= known.upto]
    first = min(after, key=lambda fault: fault.lsn, default=None)
    if first is None:
        return max(known.upto, previous.cut_lsn), None
    return max(first.lsn - 1, previous.cut_lsn), first.sentence
