"""Preview of gold's next run, from silver's records, without reading a row.

A table is planned as gold's next batch plans it, without the foreign key actions that the server
does not log, since computing them needs the rows. Later batches of the same run are not planned: a
table that only they would hold is not found here.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from pipeline.gold.changes.transactions import chosen_rows, entries, slices
from pipeline.gold.changes.xa import Prepared
from pipeline.gold.next_batch import awaits_silver, draft_next, facts_of, timeline
from pipeline.gold.plan.until import last_wanted
from pipeline.gold.table.state import GoldState, TableState
from pipeline.lake.delta_log.conditions import equal
from pipeline.lake.delta_log.spark_written import size_of_rows
from pipeline.layer import LayerRun
from pipeline.schema_history import TableName
from pipeline.schema_history.alter.items import TimelineItem
from pipeline.silver.plan.progress import silver_progress

_COLUMNS = ("__lsn", "rows", "xa_end")


@dataclass(frozen=True, slots=True)
class PendingTable:
    """A table with something to apply, or a held one.

    `changes`: rows changed in silver that would be applied, including those that were rolled back
    later. `bytes`: the size of silver's files that may have them; None if this process cannot read
    their log. `schema_changes`: changes of its definition, its creation included. `seeded`: its
    initial snapshot would be loaded. `held`: why nothing further would be applied. `new`: gold does
    not have the table yet.
    """

    schema: str
    table: str
    changes: int
    bytes: int | None
    schema_changes: int
    seeded: bool
    held: str | None
    new: bool


@dataclass(frozen=True, slots=True)
class GoldPreview:
    """The work of gold's next run. `open_batch`: a batch of an earlier run to be finished first;
    its changes count as not applied.

    `from_lsn`: the last transaction in gold; `to_lsn`: the last one that would be. `awaits_silver`:
    gold would be rebuilt, or waits until silver is. `until_stops`: silver has transactions that
    `until` leaves out.
    """

    open_batch: int | None
    from_lsn: int
    to_lsn: int
    tables: tuple[PendingTable, ...]
    awaits_silver: bool = False
    until_stops: bool = False


@dataclass(frozen=True, slots=True)
class _Ahead:
    """Gold's state now (`before`) and after the next batch (`after`), with the timeline.

    `wanted`: the last transaction that a run may apply, in that batch or later ones; `decoded`:
    silver's last one.
    """

    before: GoldState
    after: GoldState
    items: Sequence[TimelineItem]
    wanted: int
    decoded: int

    @property
    def upto(self) -> int:
        """The last transaction that would be applied, to all tables that nothing holds."""
        return self.after.cut_lsn if self.after.cut_held else max(self.wanted, self.after.cut_lsn)


def preview(run: LayerRun) -> GoldPreview:
    """Return the work of a run on silver's current content; write nothing."""
    open_plan, before = run.ledger.open("gold"), GoldState.of(run.ledger)
    batch, cut_lsn = open_plan.batch if open_plan else None, before.cut_lsn
    after = None if open_plan is None else GoldState.from_body(open_plan.body)
    begins = after is not None and after.rebuild.batch != before.rebuild.batch
    if begins or awaits_silver(run.ledger):
        return GoldPreview(batch, cut_lsn, cut_lsn, (), awaits_silver=True)
    ahead = _drafted(run) if after is None else _left(run, before, after)
    if ahead is None:
        return GoldPreview(batch, cut_lsn, cut_lsn, ())
    tables, stops = tuple(_tables(run, ahead)), ahead.wanted < ahead.decoded
    return GoldPreview(batch, cut_lsn, ahead.upto, tables, until_stops=stops)


def _drafted(run: LayerRun) -> _Ahead | None:
    """Return the next plan without cascades; None if silver has nothing."""
    draft = draft_next(run)
    if draft is None:
        return None
    return _Ahead(draft.start, draft.state, draft.seen.items, draft.wanted, draft.decoded)


def _left(run: LayerRun, before: GoldState, after: GoldState) -> _Ahead:
    """Return the unfinished plan of an earlier run.

    Parts of it may already be applied; a new plan would mistake them for changes by another
    program.
    """
    silver = silver_progress(run.ledger).plan
    decoded = silver.last_lsn if silver else after.cut_lsn
    wanted = last_wanted(run, run.settings.until, before.cut_lsn, decoded)
    return _Ahead(before, after, timeline(run), wanted, decoded)


def _reached(ahead: _Ahead) -> dict[TableName, tuple[int, int]]:
    """Return the range (low, high] of LSNs that would be applied to each table, in all batches.

    One that the next batch neither holds nor leaves out continues to the last wanted transaction.
    """
    before, after = ahead.before.tables, ahead.after
    return {
        name: (
            before[name].to_lsn if name in before else 0,
            table.to_lsn if table.held or table.to_lsn < after.cut_lsn else ahead.upto,
        )
        for name, table in after.tables.items()
    }


def _tables(run: LayerRun, ahead: _Ahead) -> Iterator[PendingTable]:
    reached = _reached(ahead)
    changes = _changes(run, ahead.before, reached)
    items: dict[TableName, list[TimelineItem]] = {}
    for item in ahead.items:
        items.setdefault(item.name, []).append(item)
    for name, (low, high) in sorted(reached.items()):
        own = items.get(name, [])
        new = [item for item in own if low < item.lsn <= high]
        held = ahead.after.holds(ahead.after.tables[name])
        count = changes[str(name)]
        if not (count or held or _alter(new)):
            continue
        yield PendingTable(
            name.schema,
            name.table,
            count,
            _size(run, name, own, low, high) if count else 0,
            sum(item.kind not in ("version", "seeded") for item in new),
            any(item.kind == "seeded" for item in new),
            held,
            _is_new(ahead.before.tables.get(name)),
        )


def _alter(items: Iterable[TimelineItem]) -> bool:
    """Return True if items do more than name silver's version of the table's rows."""
    return any(item.kind != "version" for item in items)


def _is_new(before: TableState | None) -> bool:
    return before is None or before.version is None


def _size(
    run: LayerRun, name: TableName, items: Sequence[TimelineItem], low: int, high: int
) -> int | None:
    """Return the bytes of silver's files that may have the table's changes."""
    total = 0
    for version in {item.version for item in items if item.version is not None}:
        place = run.lake.changes(name.schema, name.table, version)
        size = size_of_rows(run.spark, place, {"__lsn": (low + 1, high)})
        if size is None:
            return None
        total += size
    return total


def _changes(
    run: LayerRun, before: GoldState, reached: Mapping[TableName, tuple[int, int]]
) -> Counter[str]:
    """Return the number of changes by table (`schema.table`); those of an XA transaction count if
    it is committed within its range."""
    moving = {str(name): ends for name, ends in reached.items() if ends[0] < ends[1]}
    found: Counter[str] = Counter()
    if not moving:
        return found
    low, high = min(one for one, _ in moving.values()), max(one for _, one in moving.values())
    for rows in slices(run.spark, run.lake, run.source, low, high, _COLUMNS):
        prepared = pc.fill_null(pc.equal(rows.column("xa_end"), "prepare"), False)
        found += _counted(rows.filter(pc.invert(prepared)), moving)
    facts = facts_of(run, low, high, before.xa_from, previous_cut_lsn=before.cut_lsn)
    for one in facts.prepared:
        found += _prepared(run, one, moving)
    return found


def _counted(rows: pa.Table, moving: Mapping[str, tuple[int, int]]) -> Counter[str]:
    listed = entries(rows)
    flat = listed.flatten()
    lsns = rows.column("__lsn").to_numpy()[pc.list_parent_indices(listed).to_numpy()]
    names, counts = pc.struct_field(flat, "key"), pc.struct_field(flat, "value").to_numpy()
    found: Counter[str] = Counter()
    for name in pc.unique(names).to_pylist():
        if name in moving:
            low, high = moving[name]
            own = pc.equal(names, name).to_numpy(zero_copy_only=False)
            found[name] = int(counts[own & (lsns > low) & (lsns <= high)].sum())
    return found


def _prepared(run: LayerRun, one: Prepared, moving: Mapping[str, tuple[int, int]]) -> Counter[str]:
    """Return the changes of an XA transaction, by the range in which it is committed."""
    applied = [
        name for name, ends in moving.items() if name in one.tables and one.committed_in(*ends)
    ]
    if not applied:
        return Counter()
    where = equal("__lsn", one.lsn) & equal("xa_end", "prepare")
    rows = chosen_rows(run.spark, run.lake, run.source, where, _COLUMNS)
    return _counted(rows, dict.fromkeys(applied, (0, np.iinfo(np.int64).max)))
