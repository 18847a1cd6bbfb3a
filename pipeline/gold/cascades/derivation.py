"""Computation of foreign key cascades that the server does not log.

Done while a batch is planned, from gold's rows before it and silver's changes: what cannot be
derived holds the child like any fault, and the derived changes are stored with the plan
(`cascades.cascades_table`). Skipped if no foreign key changes rows, or no parent has rows in
transactions with unlogged cascades; if none of these rows is deleted or changes a referenced value,
only that is checked.
"""

from __future__ import annotations

from bisect import bisect_right
from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import pyarrow as pa

from pipeline.gold.cascades.cascades_table import CascadedChanges, as_changes
from pipeline.gold.cascades.links import (
    Link,
    RowIdentity,
    ancestors,
    cascading,
    changes_of,
    definition_at,
    descendants,
    links,
)
from pipeline.gold.cascades.parents import Parents
from pipeline.gold.cascades.planned_batch import DerivedCascades, PlannedBatch
from pipeline.gold.cascades.reader import Reader
from pipeline.gold.cascades.replay import (
    Cascaded,
    ChangePlace,
    Replay,
    RowChange,
    RowValues,
    TableRows,
)
from pipeline.gold.cascades.rows import ChangeRequest, TooManyRowsError
from pipeline.gold.changes.holds import OpenFault
from pipeline.gold.changes.steps import model_after, rows_between
from pipeline.schema_history import TableName
from pipeline.settings import Settings

TOO_MANY = "more rows are affected at once than can be processed"


def derive_cascades(settings: Settings, batch: PlannedBatch, reader: Reader) -> DerivedCascades:
    """Compute the foreign key cascades of a batch."""
    keys = {} if settings.foreign_keys_logged is True else cascading(batch.states, batch.items)
    if not keys or reader.all_logged():
        return DerivedCascades(batch.cut_lsn)
    found = links(keys, batch.states, batch.items)
    return _Derivation(settings, batch, reader, found).derived()


@dataclass(slots=True)
class _Derivation:
    """One batch, with the foreign keys in force in it."""

    settings: Settings
    batch: PlannedBatch
    reader: Reader
    links: Sequence[Link]

    def derived(self) -> DerivedCascades:
        """Compute the result, ending the batch earlier if too many rows are affected."""
        faults = [*Parents(self.settings, self.batch, self.reader, self.links).faults()]
        while True:
            try:
                return self._attempt(faults)
            except TooManyRowsError as many:
                if (many.lsn or 0) - 1 > self.batch.before:
                    return DerivedCascades((many.lsn or 0) - 1)
                # One transaction cannot be split: the affected tables stay where they are.
                below = {many.table, *descendants(self.links, many.table)}
                concerned = sorted(below.intersection(ancestors(self.links)))
                since = self.batch.since
                faults += [self.batch.fault(since(c) + 1, c, TOO_MANY) for c in concerned]
                self.links = [link for link in self.links if link.child not in below]

    def _attempt(self, known: Sequence[OpenFault]) -> DerivedCascades:
        """Return the result including the `known` faults. Raises TooManyRowsError."""
        faults = [*known]
        triggers = self._triggers()
        lsns = _lsns(triggers)
        first = self._first(lsns)
        cut_lsn, late = self._limit(first, lsns)
        if cut_lsn < self.batch.cut_lsn:
            return DerivedCascades(cut_lsn)
        why = "its definition changes in the same batch, and other tables have later changes"
        faults += [self._fault_below(lsn, name, why) for name, lsn in late.items()]
        faults += self._passed_by(first, lsns)
        if not first:
            return DerivedCascades(cut_lsn, tuple(faults))
        try:
            replay = self._replayed(triggers, first)
        except TooManyRowsError as many:
            raise TooManyRowsError(many.table, self._fewer(many, triggers, first)) from many
        faults += [self._fault_below(lsn, name, why) for (name, lsn), why in replay.doubts.items()]
        faults += [
            self.batch.fault(lsn, name, why, marks_only=True)
            for (name, lsn), why in replay.lacks.items()
        ]
        return DerivedCascades(
            cut_lsn, tuple(faults), self._changes(replay.cascaded), again=bool(late)
        )

    def _passed_by(
        self, first: Mapping[TableName, int], lsns: Mapping[TableName, list[int]]
    ) -> Iterator[OpenFault]:
        """Yield faults of children that have applied less than a table between them and a changed
        ancestor."""
        above = ancestors(self.links)
        for child in first:
            own = self.batch.since(child)
            for between in sorted(above[child].intersection(above) - {child}):
                later = _after(lsns, above[between], own)
                passed = [lsn for lsn in later if lsn <= self.batch.since(between)]
                if passed:
                    why = f"gold has applied later changes to {between}, which {child} references"
                    yield self.batch.fault(min(passed), child, why)

    def _fault_below(self, lsn: int, child: TableName, why: str) -> OpenFault:
        """Return a fault of a child and of all tables that cascade from it."""
        return self.batch.fault(lsn, child, why, below=descendants(self.links, child))

    # --- changes of parents -----------------------------------------------------------------------

    def _triggers(self) -> list[RowChange]:
        """Return parents' deletes and changes of referenced values whose cascades are not logged.

        Raises TooManyRowsError.
        """
        parents = sorted({link.parent for link in self.links}.intersection(self.batch.states))
        unlogged = [*filter(self.reader.not_all_logged, parents)]

        def request(name: TableName) -> ChangeRequest:
            own = tuple(sorted(self._referred(name)))
            low = min(map(self.batch.since, descendants(self.links, name)))
            return ChangeRequest(name, own, low, self.batch.states[name].to_lsn)

        found = self.reader.events(map(request, unlogged))
        if not found:
            return []
        logged = self.reader.logged({event.place[0] for event in found})
        return [event for event in map(logged.with_unlogged, found) if event.unlogged]

    def _referred(self, parent: TableName) -> set[str]:
        return {
            name for link in self.links if link.parent == parent for name in link.parent_columns
        }

    def _first(self, lsns: Mapping[TableName, list[int]]) -> dict[TableName, int]:
        """Return, by child, the first LSN at which a foreign key may change it."""
        found = {
            child: _after(lsns, above, self.batch.since(child))
            for child, above in ancestors(self.links).items()
        }
        return {child: min(some) for child, some in found.items() if some}

    # --- where the batch ends ---------------------------------------------------------------------

    def _limit(
        self, first: Mapping[TableName, int], lsns: Mapping[TableName, list[int]]
    ) -> tuple[int, dict[TableName, int]]:
        """Return the LSN at which the batch must end, and where children that lag behind it stop.

        In one batch either a child's definition changes or foreign keys change its rows.
        """
        before, cut_lsn, late = self.batch.before, self.batch.cut_lsn, {}
        above = ancestors(self.links)
        for child, lsn in first.items():
            changes = changes_of(self.batch.states[child], self.batch.items.get(child, ()))
            stop = max(changes[0], lsn) if changes else None
            if stop is not None and stop - 1 > before:
                cut_lsn = min(cut_lsn, stop - 1)
            elif stop is not None:
                late[child] = stop
            for between in above[child].intersection(above):
                # It starts there without its earlier rows, which count until then.
                begins = self.batch.states[between].from_lsn
                if any(lsn <= begins for lsn in _after(lsns, above[between], before)):
                    cut_lsn = min(cut_lsn, begins)
        return cut_lsn, late

    def _fewer(
        self, many: TooManyRowsError, triggers: Sequence[RowChange], first: Mapping[TableName, int]
    ) -> int:
        """Return an LSN before which fewer rows are affected, if possible none."""
        start = min(first.values())
        if start - 1 > self.batch.before:
            return start
        lsns = sorted({event.place[0] for event in triggers})
        return many.lsn or lsns[len(lsns) // 2]

    # --- rows -------------------------------------------------------------------------------------

    def _replayed(self, triggers: Sequence[RowChange], first: Collection[TableName]) -> Replay:
        """Replay the changes, loading further rows until all that matter are known.

        Raises TooManyRowsError.
        """
        self.links = [link for link in self.links if link.child in first]
        found = self._with_children(triggers, first)
        loaded: dict[Link, set[RowIdentity]] = defaultdict(set)
        base: dict[TableName, dict[RowIdentity, list[RowValues]]] = {
            child: self._keyed(child, found) for child in first
        }
        while True:
            children = {child: self._with(child, base[child]) for child in first}
            replay = Replay(self.links, children, loaded)
            for event in found:
                replay.take(event)
            if not replay.missing:
                return replay
            for link, values in replay.missing.items():
                self._load(base[link.child], link, values)
                loaded[link] |= values

    def _with_children(
        self, triggers: Sequence[RowChange], children: Iterable[TableName]
    ) -> list[RowChange]:
        """Return these and all changes of the children up to the last of these, in order."""
        last = max(event.place[0] for event in triggers)

        def request(child: TableName) -> ChangeRequest:
            rows, state = self._empty(child), self.batch.states[child]
            high = min(state.to_lsn, last)
            whole = not rows.key
            return ChangeRequest(
                child, rows.columns, state.from_lsn, high, all_changes=True, whole=whole
            )

        found: dict[tuple[ChangePlace, TableName], RowChange] = {
            (e.place, e.table): e for e in triggers
        }
        for event in self.reader.events(map(request, sorted(children))):
            key = (event.place, event.table)
            trigger = found.get(key)
            doubt = trigger.doubt if trigger else ""
            found[key] = replace(event, unlogged=trigger is not None, doubt=doubt)
        return [found[key] for key in sorted(found)]

    def _empty(self, child: TableName) -> TableRows:
        """Return the rows of a child before any are loaded."""
        state = self.batch.states[child]
        items = self.batch.items.get(child, ())
        definition = definition_at(items, state.to_lsn)
        key = state.key_of(definition)
        own = tuple(link for link in self.links if link.child == child)
        model = model_after(item for item in items if item.lsn <= state.to_lsn)
        defaults = model.defaults if model else ()
        carried = tuple(default.name for default in defaults if default.unlogged)
        asked = [
            *key,
            *carried,
            *(name for link in own for name in link.columns),
            *sorted(self._referred(child)),
        ]
        if not key and definition:
            asked = [column.name for column in definition.columns]
        complete = state.complete_from or self.batch.begins_empty(child)
        columns = tuple(dict.fromkeys(asked))
        whole = complete and not state.marked
        return TableRows(key, columns, state.from_lsn, state.to_lsn, own, whole, carried)

    def _with(self, child: TableName, base: Mapping[RowIdentity, list[RowValues]]) -> TableRows:
        rows = self._empty(child)
        for copies in base.values():
            for row in copies:
                rows.put(row)
        return rows

    def _keyed(
        self, child: TableName, found: Iterable[RowChange]
    ) -> dict[RowIdentity, list[RowValues]]:
        """Return the rows whose changes do not contain all required columns."""
        rows = self._empty(child)
        partial = (event for event in found if event.table == child and rows.takes(event))
        keys = {
            tuple(event.before[name] for name in rows.key)
            for event in partial
            if event.before is not None
            and all(name in event.before for name in rows.key)
            and not all(name in event.before for name in rows.columns)
        }
        if not rows.key or self.batch.begins_empty(child):
            return {}
        return _by_identity(rows, self.reader.keyed(child, rows.key, keys, rows.columns))

    def _load(
        self, base: dict[RowIdentity, list[RowValues]], link: Link, values: set[RowIdentity]
    ) -> None:
        if not self.batch.begins_empty(link.child):
            rows = self._empty(link.child)
            base.update(_by_identity(rows, self.reader.referring(link, values, rows.columns)))

    # --- results ----------------------------------------------------------------------------------

    def _changes(self, cascaded: Iterable[Cascaded]) -> CascadedChanges:
        """Return the results by table and silver's version."""
        by_table: dict[TableName, list[Cascaded]] = defaultdict(list)
        for one in cascaded:
            by_table[one.table].append(one)
        found: dict[tuple[TableName, int], pa.Table] = {}
        for name, some in by_table.items():
            state = self.batch.states[name]
            items = self.batch.items.get(name, ())
            for part in rows_between(items, state.from_lsn, state.to_lsn):
                own = [one for one in some if part.start <= one.place[:2] < part.stop]
                if own:
                    table = as_changes(own, part.definition, self.settings.type_options)
                    key = (name, part.version)
                    found[key] = pa.concat_tables([found[key], table]) if key in found else table
        return found


def _lsns(triggers: Iterable[RowChange]) -> dict[TableName, list[int]]:
    """Return the LSNs of each parent's changes, in order."""
    found: dict[TableName, set[int]] = defaultdict(set)
    for event in triggers:
        found[event.table].add(event.place[0])
    return {name: sorted(lsns) for name, lsns in found.items()}


def _after(
    lsns: Mapping[TableName, Sequence[int]], names: Iterable[TableName], low: int
) -> list[int]:
    """Return the first LSN after `low` of each of these tables that has one."""
    places = [(own, bisect_right(own, low)) for own in (lsns.get(name, ()) for name in names)]
    return [own[at] for own, at in places if at < len(own)]


def _by_identity(rows: TableRows, found: Iterable[RowValues]) -> dict[RowIdentity, list[RowValues]]:
    by_identity: dict[RowIdentity, list[RowValues]] = defaultdict(list)
    for row in found:
        by_identity[rows.identity(row)].append(row)
    # Sorted, since Spark's order is not deterministic.
    return dict(sorted(by_identity.items(), key=repr))
