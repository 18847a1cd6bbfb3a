"""Foreign keys: what they do to rows of child tables, where the server does not log it.

Worked out while a batch is planned, from gold as it is before it and from silver's changes: so what
cannot be told holds the child like any fault, and what can is kept with the plan
(`cascade_store`). Nothing of this is done for tables without foreign keys that change rows, nor
where no parent has rows in transactions that leave something unlogged.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession, functions as sf

from pipeline import delta
from pipeline.catalog.effects import TableName
from pipeline.gold.blocks import Fault
from pipeline.gold.cascade_links import (
    ancestors,
    cascading,
    changes_of,
    definition_at,
    descendants,
    links,
)
from pipeline.gold.cascade_outlook import Foreseen, Outlook
from pipeline.gold.cascade_replay import Cascaded, Event, Identity, Link, Replay, Rows, Values
from pipeline.gold.cascade_rows import (
    LoggedCascades,
    TooManyRowsError,
    Wish,
    events,
    keyed,
    referring,
    rows_between,
    transactions,
)
from pipeline.gold.cascade_store import Changes, as_changes
from pipeline.gold.names import gold_name
from pipeline.lake import Lake
from pipeline.settings import Settings
from pipeline.silver.decode import OFFSET_BITS

WAY_BACK = (
    "A copy that takes its place (CREATE TABLE … LIKE, INSERT … SELECT, RENAME TABLE) is"
    " replicated again."
)


def foresee(spark: SparkSession, settings: Settings, outlook: Outlook) -> Foreseen:
    """Look at what foreign keys do in a batch."""
    if settings.foreign_keys_logged is True:
        return Foreseen(outlook.cut_lsn)
    keys = cascading(outlook.states, outlook.items)
    if not keys:
        return Foreseen(outlook.cut_lsn)
    found = links(keys, outlook.states, outlook.items)
    return _Foresight(spark, settings, outlook, found).look()


class _Foresight:
    """One batch, with the foreign keys that are in force in it."""

    def __init__(
        self, spark: SparkSession, settings: Settings, outlook: Outlook, found: Sequence[Link]
    ) -> None:
        self._spark = spark
        self._settings = settings
        self._lake = Lake(settings.lake)
        self._outlook = outlook
        self._states = outlook.states
        self._links = found
        self._above = ancestors(found)
        self._low = min(self._since(link.child) for link in found)

    def look(self) -> Foreseen:
        """What comes of it."""
        unlogged = self._unlogged()
        faults = [*self._of_parents()]
        active = {
            child
            for child, above in self._above.items()
            if any(unlogged.get(name, 0) > self._since(child) for name in above)
        }
        if not active:
            return Foreseen(self._outlook.cut_lsn, tuple(faults))
        self._links = [link for link in self._links if link.child in active]
        try:
            found = self._events(set(unlogged))
        except TooManyRowsError as many:
            return self._shortened(many.lsn, active, faults)
        first = self._first_triggers(found, active)
        cut, late = self._limit(first)
        if cut < self._outlook.cut_lsn:
            return Foreseen(cut)
        faults += [self._fault(lsn, name, why) for name, (lsn, why) in late.items()]
        if not first:
            return Foreseen(cut, tuple(faults))
        try:
            replay = self._replayed(found, active)
        except TooManyRowsError:
            lsns = sorted({event.place[0] for event in found if self._fires(event)})
            return self._shortened(lsns[len(lsns) // 2], active, faults)
        faults += [self._fault(lsn, name, why) for (name, lsn), why in replay.doubts.items()]
        return Foreseen(cut, tuple(faults), self._changes(replay.cascaded))

    def _since(self, child: TableName) -> int:
        """Behind which LSN changes of parents count for it: those of before were looked at."""
        state = self._states[child]
        return state.from_lsn if state.to_lsn > state.from_lsn else self._outlook.before

    # --- parents ----------------------------------------------------------------------------------

    def _transactions(self, low: int) -> DataFrame:
        """Those of silver in the batch that leave something of foreign keys unlogged."""
        lsn, kind = sf.col("__lsn"), sf.col("cascades")
        prepared = [p.lsn for p in self._outlook.facts.prepared]
        within = ((lsn > low) & (lsn <= self._outlook.cut_lsn)) | lsn.isin(prepared)
        rows = transactions(self._spark, self._lake, self._settings.source)
        return rows.where(within & ~kind.eqNullSafe("logged"))

    def _unlogged(self) -> dict[TableName, int]:
        """By parent, the last LSN at which rows of it are in such a transaction."""
        names = {str(link.parent): link.parent for link in self._links}
        each = self._transactions(self._low).select(
            sf.explode(sf.map_keys("rows")).alias("name"), "__lsn"
        )
        rows = each.where(sf.col("name").isin([*names])).groupBy("name").agg(sf.max("__lsn"))
        ends = {p.lsn: p.end_lsn or 0 for p in self._outlook.facts.prepared}
        prepared = {name: max(ends.values(), default=0) for name in names.values()} if ends else {}
        return {
            names[row[0]]: max(row[1], prepared.get(names[row[0]], 0)) for row in rows.collect()
        }

    def _of_parents(self) -> Iterator[Fault]:
        """Faults of children whose parents' changes are not all applied."""
        for parent in sorted({link.parent for link in self._links}):
            since, lacking = self._not_applied(parent), self._lacking(parent)
            lsns = self._faulty(parent)
            if since is None and not lsns and not lacking:
                continue
            named = sf.array_contains(sf.map_keys("rows"), str(parent))
            found = self._transactions(self._low).where(named | sf.col("__lsn").isin(lsns))
            decided = {p.lsn: p.end_lsn for p in self._outlook.facts.prepared}
            rows = found.select("__lsn").distinct().collect()
            known = sorted(filter(None, (decided.get(row[0], row[0]) for row in rows)))
            for child in sorted(descendants(self._links, parent) - {parent}):
                own = self._since(child)
                waits = [lsn for lsn in known if since is not None and lsn > max(since, own)][:1]
                faulty = [lsn for lsn in lsns if lsn in known and lsn > own]
                for lsn in {*waits, *faulty}:
                    why = f"changes of {parent} are not applied, to which it refers"
                    yield self._fault(lsn, child, why, alone=True)
                if lacking and self._states[child].complete_from:
                    why = f"gold lacks rows of {parent}, to which it refers"
                    for lsn in [lsn for lsn in known if lsn > own][:1]:
                        yield replace(self._fault(lsn, child, why, alone=True), given_up=True)

    def _faulty(self, parent: TableName) -> list[int]:
        """Where changes of a parent cannot be read."""
        items = self._outlook.items.get(parent, ())
        defined = {item.lsn for item in items if item.kind == "unsupported"}
        lsns = {fault.lsn for fault in self._outlook.faults if fault.names(parent)}
        return sorted(lsn for lsn in lsns - defined if lsn > self._low)

    def _lacking(self, parent: TableName) -> bool:
        """Whether a parent began before the log: what other tables change in it is not known.

        Then nothing is certain of its children, but what its own changes do to them is done.
        """
        state = self._states.get(parent)
        return state is not None and not (state.complete or state.dropped)

    def _not_applied(self, parent: TableName) -> int | None:
        """From which LSN on a parent's changes are not applied; None where all are."""
        state = self._states.get(parent)
        if state is None or not self._settings.wanted(parent.schema, parent.table):
            return self._low
        return state.to_lsn if state.to_lsn < self._outlook.cut_lsn else None

    # --- changes ----------------------------------------------------------------------------------

    def _events(self, unlogged: set[TableName]) -> list[Event]:
        """All changes that count, in order."""
        children = {link.child for link in self._links}
        names = children | {link.parent for link in self._links if link.parent in unlogged}

        def read(name: TableName) -> list[Event]:
            wish, items = self._wish(name, children), self._outlook.items.get(name, ())
            types = self._settings.type_options
            return events(self._spark, self._lake, wish, items, self._outlook.facts, types)

        with ThreadPoolExecutor(self._settings.parallel_tables) as pool:
            each = pool.map(read, sorted(names.intersection(self._states)))
            found = [event for some in each for event in some]
        lsns = {event.place[0] for event in found}
        if not lsns:
            return []
        told = LoggedCascades(
            self._spark, self._lake, self._settings.source, lsns, self._outlook.facts
        )
        return sorted((_told(event, told) for event in found), key=lambda event: event.place)

    def _wish(self, name: TableName, children: set[TableName]) -> Wish:
        referred = self._referred(name)
        low = min(self._since(link.child) for link in self._links)
        high = self._states[name].to_lsn
        if name not in children:
            return Wish(name, tuple(sorted(referred)), low, high, frozenset(referred))
        rows = self._empty(name)
        return Wish(name, rows.columns, low, high, all_changes=True, whole=not rows.key)

    def _empty(self, child: TableName) -> Rows:
        """A child's rows, none of which is known yet."""
        state = self._states[child]
        definition = definition_at(self._outlook.items.get(child, ()), state.to_lsn)
        key = state.key or (definition.key if definition else ())
        own = tuple(link for link in self._links if link.child == child)
        asked = [
            *key,
            *(name for link in own for name in link.columns),
            *sorted(self._referred(child)),
        ]
        if not key and definition:
            asked = [column.name for column in definition.columns]
        complete = state.complete_from and not state.marked
        columns = tuple(dict.fromkeys(asked))
        return Rows(key, columns, state.from_lsn, state.to_lsn, own, complete)

    def _first_triggers(
        self, found: Iterable[Event], active: set[TableName]
    ) -> dict[TableName, int]:
        """By child, the first LSN at which a foreign key may do something to it."""
        first: dict[TableName, int] = {}
        for event in filter(self._fires, found):
            for child in active:
                if event.table in self._above[child] and event.place[0] > self._since(child):
                    first.setdefault(child, event.place[0])
        return first

    def _fires(self, event: Event) -> bool:
        """Whether a change may concern rows that refer to the changed one, unlogged."""
        old, new = event.before, event.after
        if old is None or not event.unlogged:
            return False
        return new is None or any(
            name in new and (name not in old or new[name] != old[name])
            for name in self._referred(event.table)
        )

    def _referred(self, parent: TableName) -> set[str]:
        return {
            name for link in self._links if link.parent == parent for name in link.parent_columns
        }

    # --- where the batch ends ---------------------------------------------------------------------

    def _limit(
        self, first: Mapping[TableName, int]
    ) -> tuple[int, dict[TableName, tuple[int, str]]]:
        """Where the batch must end, and the children that wait for what cannot be parted so."""
        cut, late = self._outlook.cut_lsn, {}
        for child, lsn in first.items():
            state = self._states[child]
            changes = changes_of(child, self._outlook.items, state.from_lsn, state.to_lsn)
            before = [one for one in changes if one < lsn]
            if not changes:
                continue
            limit = before[-1] if before else changes[0] - 1
            if limit > self._outlook.before:
                cut = min(cut, limit)
            else:
                late[child] = (lsn, "it was held while its definition changed")
        return cut, late

    def _shortened(self, lsn: int, active: set[TableName], faults: Sequence[Fault]) -> Foreseen:
        """A batch that ends before so many rows are concerned; one transaction cannot be parted."""
        if lsn - 1 > self._outlook.before:
            return Foreseen(lsn - 1)
        why = "more rows are concerned at once than can be looked at"
        told = (self._fault(lsn, child, why) for child in sorted(active))
        return Foreseen(self._outlook.cut_lsn, (*faults, *told))

    # --- rows -------------------------------------------------------------------------------------

    def _replayed(self, found: Sequence[Event], active: set[TableName]) -> Replay:
        """Go through the changes, again with more rows as long as others turn out to count."""
        loaded: dict[Link, set[Identity]] = defaultdict(set)
        base: dict[TableName, dict[Identity, list[Values]]] = {
            child: self._keyed(child, found) for child in active
        }
        while True:
            children = {child: self._with(child, base[child]) for child in active}
            replay = Replay(self._links, children, loaded)
            for event in found:
                replay.take(event)
            if not replay.missing:
                return replay
            for link, values in replay.missing.items():
                self._load(base[link.child], link, values)
                loaded[link] |= values

    def _with(self, child: TableName, base: Mapping[Identity, list[Values]]) -> Rows:
        rows = self._empty(child)
        for copies in base.values():
            for row in copies:
                rows.put(row)
        return rows

    def _gold(self, child: TableName) -> DataFrame | None:
        """A child's gold as it is before the batch."""
        version = self._outlook.versions.get(child)
        if version is None:
            return None
        path = gold_name(self._settings, child.schema, child.table)
        return delta.read(self._spark, path, version=version)

    def _keyed(self, child: TableName, found: Iterable[Event]) -> dict[Identity, list[Values]]:
        """Rows of which changes do not say all that is asked for."""
        rows, gold = self._empty(child), self._gold(child)
        partial = (event for event in found if event.table == child and rows.takes(event))
        keys = {
            tuple(event.before[name] for name in rows.key)
            for event in partial
            if event.before is not None
            and all(name in event.before for name in rows.key)
            and not all(name in event.before for name in rows.columns)
        }
        if gold is None or not rows.key or not keys:
            return {}
        return _by_identity(rows, keyed(gold, rows.key, keys, rows.columns))

    def _load(self, base: dict[Identity, list[Values]], link: Link, values: set[Identity]) -> None:
        rows, gold = self._empty(link.child), self._gold(link.child)
        if gold is not None:
            base.update(_by_identity(rows, referring(gold, link, values, rows.columns)))

    # --- results ----------------------------------------------------------------------------------

    def _changes(self, cascaded: Iterable[Cascaded]) -> Changes:
        """What comes out, by table and by silver's version at each place."""
        by_table: dict[TableName, list[Cascaded]] = defaultdict(list)
        for one in cascaded:
            by_table[one.table].append(one)
        found: dict[tuple[TableName, int], pa.Table] = {}
        for name, some in by_table.items():
            state = self._states[name]
            for part in rows_between(
                self._outlook.items.get(name, ()), state.from_lsn, state.to_lsn
            ):
                own = [one for one in some if part.start <= one.place[:2] < part.stop]
                if own:
                    table = as_changes(own, part.definition, self._settings.type_options)
                    key = (name, part.version)
                    found[key] = pa.concat_tables([found[key], table]) if key in found else table
        return found

    def _fault(self, lsn: int, child: TableName, why: str, *, alone: bool = False) -> Fault:
        """A fault of a child and, unless `alone`, of all tables whose rows change with its rows."""
        ordinal, position = lsn >> OFFSET_BITS, lsn & ((1 << OFFSET_BITS) - 1)
        file = self._outlook.files.get(ordinal, f"file number {ordinal}")
        names = {child} if alone else {child, *descendants(self._links, child)}
        sentence = (
            f"{file}, position {position}: what foreign keys do to rows of {child} is not in the"
            f" log and cannot be told: {why}. {WAY_BACK}"
        )
        return Fault(lsn, sentence, tuple(sorted(names)))


def _told(event: Event, logged: LoggedCascades) -> Event:
    unlogged, doubt = logged.told(event)
    return replace(event, unlogged=unlogged, doubt=doubt)


def _by_identity(rows: Rows, found: Iterable[Values]) -> dict[Identity, list[Values]]:
    by_identity: dict[Identity, list[Values]] = defaultdict(list)
    for row in found:
        by_identity[rows.identity(row)].append(row)
    return by_identity
