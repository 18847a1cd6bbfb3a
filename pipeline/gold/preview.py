"""What gold's next run would apply, by silver's records: no row is read for it.

A table is planned as gold's next batch plans it, but for what foreign keys do unlogged, which needs
the rows. Later batches of the same run are not planned: a table that only they would hold is not
found here.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from pipeline.catalog import TableName
from pipeline.catalog.alter.items import TimelineItem
from pipeline.gold.changes.transactions import chosen_rows, entries, slices
from pipeline.gold.changes.xa import Prepared
from pipeline.gold.planning import Draft, awaits_silver, draft_next, facts_of
from pipeline.gold.table.state import GoldState, TableState
from pipeline.lake.delta_log.conditions import equal
from pipeline.lake.delta_log.spark_written import size_of_rows
from pipeline.layer import LayerRun

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
    """What gold would do. `open_batch`: the one that an earlier run left, to be finished first; its
    changes count as not applied.

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


def preview(run: LayerRun) -> GoldPreview:
    """Return what a run would apply of what silver has now; writes nothing."""
    open_plan, before = run.ledger.open("gold"), GoldState.of(run.ledger)
    batch, cut = open_plan.batch if open_plan else None, before.cut_lsn
    if awaits_silver(run.ledger):
        return GoldPreview(batch, cut, cut, (), awaits_silver=True)
    draft = draft_next(run)
    if draft is None:
        return GoldPreview(batch, cut, cut, ())
    reached = _reached(draft)
    return GoldPreview(
        batch,
        cut,
        draft.state.cut_lsn if draft.state.cut_held else draft.wanted,
        tuple(_tables(run, draft, reached)),
        until_stops=draft.wanted < draft.decoded,
    )


def _reached(draft: Draft) -> dict[TableName, tuple[int, int]]:
    """Return the range (low, high] of LSNs that would be applied to each table, in all batches.

    One that the first batch neither holds nor leaves out goes on to the last wanted transaction.
    """
    state = draft.state
    cut = state.cut_lsn if state.cut_held else draft.wanted
    return {
        name: (
            draft.start.tables[name].to_lsn if name in draft.start.tables else 0,
            table.to_lsn if table.held or table.to_lsn < state.cut_lsn else cut,
        )
        for name, table in state.tables.items()
    }


def _tables(
    run: LayerRun, draft: Draft, reached: Mapping[TableName, tuple[int, int]]
) -> Iterator[PendingTable]:
    changes = _changes(run, draft, reached)
    items: dict[TableName, list[TimelineItem]] = {}
    for item in draft.seen.items:
        items.setdefault(item.name, []).append(item)
    for name, (low, high) in sorted(reached.items()):
        table, own = draft.state.tables[name], items.get(name, [])
        new = [item for item in own if low < item.lsn <= high]
        held = draft.state.holds(table)
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
            _is_new(draft.start.tables.get(name)),
        )


def _alter(items: Iterable[TimelineItem]) -> bool:
    """Return True if items do more to a table than to name silver's version of its rows."""
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
    run: LayerRun, draft: Draft, reached: Mapping[TableName, tuple[int, int]]
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
    before = draft.previous
    facts = facts_of(run, low, high, before.xa_from, cut_before=before.cut_lsn)
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
