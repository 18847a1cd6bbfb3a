"""Which foreign keys are in force over a batch, and where a batch must end for their sake.

What they do is worked out from gold's rows of before the batch, so a batch in which one does
anything changes no definition of its table: it ends before such a change, or there is one of its
own up to it.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import replace

from decoder import TableDefinition
from decoder.constants import ZERO_DATE_TYPES, ColumnType
from decoder.model.definition import ColumnDefinition
from pipeline.catalog import TableName
from pipeline.catalog.alter.items import TimelineItem
from pipeline.catalog.ddl.foreign_key import ForeignKey
from pipeline.catalog.ddl.model import TableModel
from pipeline.gold.cascades.replay import Link
from pipeline.gold.changes.steps import model_after
from pipeline.gold.table.loose_text import is_binary
from pipeline.gold.table.state import TableState

Items = Mapping[TableName, Sequence[TimelineItem]]
_STAYS = ("version", "keys", "temporary")
"""Items at which a table keeps its columns, and, unless its model says so, its foreign keys."""
_SAME = ("type", "unsigned", "precision", "scale", "fraction", "labels")
"""What two columns must have in common for equal values of theirs to be equal in gold."""
_FIXED = (ColumnType.STRING, ColumnType.BIT)
"""Also their length: InnoDB compares CHARs with the spaces behind them. Where a collation counts
these (NO PAD), a CHAR refers to nothing of another length (on 9.7 it stays when a VARCHAR goes)."""


def cascading(
    states: Mapping[TableName, TableState], items: Items
) -> dict[TableName, list[ForeignKey]]:
    """By table, the foreign keys that change rows of it at any time in the batch.

    One that is held has those of where it is: tables that refer to it depend on them.
    """
    found = {}
    for name, state in states.items():
        keys = _over_time(state, items.get(name, ()))
        if keys := [key for key in keys if key.cascades]:
            found[name] = keys
    return found


def _over_time(state: TableState, items: Sequence[TimelineItem]) -> Iterable[ForeignKey]:
    """The keys at the batch's beginning, and those that come in it."""
    found: dict[ForeignKey, None] = {}
    model: TableModel | None = None
    empty = begins_empty(state, items)
    for item in items:
        if item.lsn > state.to_lsn:
            break
        model = model_after([item], model)
        if item.lsn <= state.from_lsn + empty:
            found = {}
        found.update(dict.fromkeys(model.foreign_keys if model else ()))
    return found


def resolved(parent: tuple[str, str], known: Collection[TableName]) -> TableName:
    """The table that a foreign key names; servers may spell it without regard to case."""
    name = TableName(*parent)
    if name in known:
        return name
    alike = [n for n in known if str(n).casefold() == str(name).casefold()]
    return alike[0] if len(alike) == 1 else name


def ancestors(links: Iterable[Link]) -> dict[TableName, set[TableName]]:
    """By child, the tables whose rows may change rows of it, over any number of others."""
    parents: dict[TableName, set[TableName]] = defaultdict(set)
    for link in links:
        parents[link.child].add(link.parent)
    return {child: _closed({child}, parents) for child in parents}


def descendants(links: Iterable[Link], name: TableName) -> set[TableName]:
    """The tables whose rows may change when rows of this one do."""
    children: dict[TableName, set[TableName]] = defaultdict(set)
    for link in links:
        children[link.parent].add(link.child)
    return _closed({name}, children)


def _closed(start: set[TableName], onward: Mapping[TableName, set[TableName]]) -> set[TableName]:
    found: set[TableName] = set()
    left = set(start)
    while left:
        left = {other for name in left for other in onward.get(name, ())} - found
        found |= left
    return found


def begins_empty(state: TableState, items: Iterable[TimelineItem]) -> bool:
    """Whether the table is created where its part of the batch begins, without gold's old rows."""
    return any(item.kind == "create" and item.lsn == state.from_lsn + 1 for item in items)


def changes_of(state: TableState, items: Sequence[TimelineItem]) -> list[int]:
    """The LSNs in a batch at which a table's columns or foreign keys change."""
    low = state.from_lsn + begins_empty(state, items)
    found: list[int] = []
    keys: tuple[ForeignKey, ...] | None = None
    for item in items:
        before = keys
        keys = item.model.foreign_keys if item.model else keys
        changes = item.kind not in _STAYS or before not in (None, keys)
        if changes and low < item.lsn <= state.to_lsn:
            found.append(item.lsn)
    return found


def definition_at(items: Iterable[TimelineItem], lsn: int) -> TableDefinition | None:
    """What a table is at the end of a transaction, or was last."""
    found = None
    for item in items:
        if item.lsn <= lsn and item.definition is not None:
            found = item.definition
    return found


def links(
    keys: Mapping[TableName, Sequence[ForeignKey]],
    states: Mapping[TableName, TableState],
    items: Items,
) -> list[Link]:
    """The foreign keys with their columns as gold names them."""
    return [
        _link(name, key, resolved(key.parent, items), states[name].to_lsn, items)
        for name, own in keys.items()
        for key in own
    ]


def _link(child: TableName, key: ForeignKey, parent: TableName, lsn: int, items: Items) -> Link:
    own = definition_at(items.get(child, ()), lsn)
    theirs = definition_at(items.get(parent, ()), lsn)
    bare = Link(child, key.columns, parent, key.parent_columns, key.on_delete, key.on_update)
    columns = _named(own, key.columns)
    parents = _named(theirs, key.parent_columns or (theirs.key if theirs else ()))
    if not columns or not parents or len(columns) != len(parents):
        return replace(bare, doubt=f"the columns of its foreign key to {parent} are not known")
    pairs = list(zip(columns, parents, strict=True))
    other = [one.name for one, two in pairs if not _alike(one, two)]
    model = model_after(item for item in items.get(child, ()) if item.lsn <= lsn)
    return replace(
        bare,
        computed=model is None or any(model.generates_from(column.name) for column in columns),
        columns=tuple(column.name for column in columns),
        parent_columns=tuple(column.name for column in parents),
        exact=frozenset(column.name for column in columns if is_binary(column)),
        zero_dates=frozenset(column.name for column in parents if column.type in ZERO_DATE_TYPES),
        doubt=(
            f"{', '.join(other)} and what it refers to in {parent} are of different types"
            if other
            else ""
        ),
    )


def _named(definition: TableDefinition | None, names: Sequence[str]) -> list[ColumnDefinition]:
    """The columns of these names; none if one of them is not there."""
    columns = definition.columns if definition else ()
    by_name = {column.name.casefold(): column for column in columns}
    found = [by_name.get(name.casefold()) for name in names]
    known = [column for column in found if column is not None]
    return known if len(known) == len(names) else []


def _alike(one: ColumnDefinition, two: ColumnDefinition) -> bool:
    return all(getattr(one, name) == getattr(two, name) for name in _SAME) and (
        one.length == two.length or one.type not in _FIXED
    )
