"""Replay of foreign key cascades on rows of child tables, change by change, as InnoDB does it.

Pure Python over the few rows that may be affected: a change of a parent finds its children by the
referenced values, and each child row that is deleted or changed is in turn a change of a parent.
The results are changes of the children, each at the position of the change that caused it.

Values are compared exactly. If a collation may compare differently, or a value is unknown, the
child is listed in `doubts`: nothing is guessed.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from pipeline.gold.cascades.links import Link, RowIdentity, descendants
from pipeline.gold.changes.images import REPLACEMENT
from pipeline.schema_history import TableName

RowValues = dict[str, Any]
ChangePlace = tuple[int, int, int]
"""Place of a change in the log: LSN, position and row number."""
MAX_DEPTH = 64
"""More than InnoDB's own limit of 15 levels."""


@dataclass(frozen=True, slots=True)
class RowChange:
    """A change of a row in the log; its images only have the requested columns that are known.

    `before` is None for an insert, `after` for a delete. `unlogged`: its cascades are not in the
    log. `doubt`: why `unlogged` is unknown; empty if it is known.
    """

    place: ChangePlace
    table: TableName
    before: RowValues | None
    after: RowValues | None
    unlogged: bool
    committed_at: Any = None
    doubt: str = ""


@dataclass(frozen=True, slots=True)
class Cascaded:
    """A change made by a foreign key, the `number`-th that the change at `place` causes.

    `before` has the known columns of the row, `after` the changed ones (None: the row is deleted).
    """

    place: ChangePlace
    number: int
    table: TableName
    before: RowValues
    after: RowValues | None
    committed_at: Any


@dataclass(slots=True)
class TableRows:
    """Known rows of a child table; `key` is empty if rows are only identified by all columns.

    They include the changes up to LSN `since`; those after `until` do not apply to them. `columns`:
    the columns to read. `carried`: those that every change must include, since a column left out
    would count as unknown. `complete`: gold has all rows of the table.
    """

    key: tuple[str, ...]
    columns: tuple[str, ...]
    since: int
    until: int
    links: tuple[Link, ...]
    complete: bool = True
    carried: tuple[str, ...] = ()
    rows: dict[RowIdentity, list[RowValues]] = field(default_factory=dict)
    index: dict[tuple[int, RowIdentity], dict[RowIdentity, None]] = field(
        default_factory=lambda: defaultdict(dict)
    )

    def takes(self, event: RowChange) -> bool:
        """Return True if a change applies to these rows."""
        return self.since < event.place[0] <= self.until

    def identity(self, row: RowValues) -> RowIdentity:
        """Return the values that identify the row."""
        return tuple(_frozen(row[name]) for name in self.key or self.columns)

    def put(self, row: RowValues) -> None:
        """Add a row or, without a key, another copy of it."""
        identity = self.identity(row)
        if self.key and identity in self.rows:
            self.take(identity)
        self.rows.setdefault(identity, []).append(row)
        for place in self._places(row):
            self.index[place][identity] = None

    def take(self, identity: RowIdentity) -> RowValues | None:
        """Remove a row and return it; None if it is not among these."""
        copies = self.rows.get(identity)
        if not copies:
            return None
        row = copies.pop()
        if not copies:
            del self.rows[identity]
            for place in self._places(row):
                self.index[place].pop(identity, None)
        return row

    def referring(self, link: Link, values: RowIdentity) -> list[RowIdentity]:
        """Return the identities of rows that may refer to these values."""
        return list(self.index.get((self.links.index(link), link.rough(values)), ()))

    def _places(self, row: RowValues) -> Iterator[tuple[int, RowIdentity]]:
        for number, link in enumerate(self.links):
            values = [row[name] for name in link.columns]
            if None not in values:
                yield number, link.rough(values)


class Replay:
    """Replay of changes in order, which collects the cascades that they cause.

    `children`: the tables that foreign keys change. `loaded`: by link, the values for which all
    referring rows are loaded. Further values that turn out to be needed are collected in `missing`;
    the results are then invalid.
    """

    def __init__(
        self,
        links: Sequence[Link],
        children: Mapping[TableName, TableRows],
        loaded: Mapping[Link, set[RowIdentity]],
    ) -> None:
        self._links = links
        self._children = children
        self._loaded = loaded
        self._by_parent: dict[TableName, list[Link]] = defaultdict(list)
        for link in links:
            self._by_parent[link.parent].append(link)
        self.cascaded: list[Cascaded] = []
        self.missing: dict[Link, set[RowIdentity]] = defaultdict(set)
        self.doubts: dict[tuple[TableName, int], str] = {}
        self.lacks: dict[tuple[TableName, int], str] = {}
        self._event: RowChange
        self._number = 0

    def take(self, event: RowChange) -> None:
        """Apply one change and its cascades."""
        self._event, self._number = event, 0
        rows = self._children.get(event.table)
        old: RowValues = dict(event.before or {})
        new: RowValues | None = None
        if rows is not None and rows.takes(event):
            old, new = _changed(rows, event)
            if lost := _lost(rows, event):
                reason = f"an insert leaves out {lost}, whose DEFAULT is not known"
                self._doubt(event.table, reason)
        elif event.after is not None:
            new = {**old, **event.after}
        if event.unlogged and event.before is not None:
            self._fire(event.table, old, new, 0)

    def _fire(self, parent: TableName, old: RowValues, new: RowValues | None, depth: int) -> None:
        """Apply the foreign keys to a parent's row that is changed, or deleted (`new` is None)."""
        for link in self._by_parent.get(parent, ()):
            action = link.on_delete if new is None else link.on_update
            if not action or not _concerns(link, old, new):
                continue
            rows = self._children[link.child]
            if rows.takes(self._event):
                self._act(link, action, old, new, depth)
            elif self._event.place[0] > rows.until:
                self._doubt_below(link.child, "changes of {} are not applied")
            else:
                # Gold's rows of that table are already at a later position.
                self._doubt_below(link.child, "gold has applied later changes to {}")

    def _act(
        self, link: Link, action: str, old: RowValues, new: RowValues | None, depth: int
    ) -> None:
        doubt = link.doubt or _unknown(link, old, new)
        if doubt or depth > MAX_DEPTH:
            self._doubt(link.child, doubt or "its foreign keys form an endless cycle")
            return
        values = tuple(old[name] for name in link.parent_columns)
        if None in values:
            return
        rough = link.rough(values)
        if rough not in self._loaded.get(link, set()):
            self.missing[link].add(rough)
            return
        if not self._children[link.child].complete:
            self._doubt_below(link.child, "gold lacks rows of {}", self.lacks)
        leaves = new is None and action == "CASCADE"
        computed = "" if leaves or not link.computed else "columns of it are generated from these"
        for identity in self._referring(link, values, self._event.doubt or computed):
            self._change(link, action, identity, new, depth)

    def _referring(self, link: Link, values: RowIdentity, doubt: str) -> Iterator[RowIdentity]:
        """Yield the rows that refer to these values, each as often as it exists.

        `doubt`: why that is not known for any row; empty if it is.
        """
        rows = self._children[link.child]
        for identity in rows.referring(link, values):
            copies = rows.rows.get(identity, [])
            if copies and doubt:
                self._doubt(link.child, doubt)
            elif copies and tuple(copies[-1][name] for name in link.columns) != values:
                text = ", ".join(map(repr, values))
                other = (
                    f"a row of {link.parent} with {text} is deleted or changed, and whether rows"
                    " with another spelling refer to it depends on their collation"
                )
                self._doubt(link.child, other)
            else:
                yield from [identity] * len(copies)

    def _change(
        self, link: Link, action: str, identity: RowIdentity, new: RowValues | None, depth: int
    ) -> None:
        event, rows = self._event, self._children[link.child]
        row = rows.take(identity)
        if row is None:
            return
        after: RowValues | None = None
        changed: RowValues | None = None
        if action == "SET NULL":
            changed = dict.fromkeys(link.columns)
        elif new is not None:
            values = (new[name] for name in link.parent_columns)
            changed = dict(zip(link.columns, values, strict=True))
        if changed is not None:
            after = {**row, **changed}
            rows.put(after)
            changed.update((name, after[name]) for name in rows.carried)
        self._number += 1
        values_after = after if not rows.key else changed
        self.cascaded.append(
            Cascaded(event.place, self._number, link.child, row, values_after, event.committed_at)
        )
        self._fire(link.child, row, after, depth + 1)

    def _doubt_below(
        self,
        table: TableName,
        reason: str,
        found: dict[tuple[TableName, int], str] | None = None,
    ) -> None:
        """Record that this table's rows, and those that cascade from them, are not known."""
        for child in descendants(self._links, table):
            if self._children[child].takes(self._event):
                doubts = self.doubts if found is None else found
                doubts.setdefault((child, self._event.place[0]), reason.format(table))

    def _doubt(self, child: TableName, reason: str) -> None:
        self.doubts.setdefault((child, self._event.place[0]), reason)


def _concerns(link: Link, old: RowValues, new: RowValues | None) -> bool:
    """Return True if a parent's row is deleted, or a referenced column changes.

    A column that an image leaves out is unchanged.
    """
    return new is None or any(_differs(name, old, new) for name in link.parent_columns)


def _changed(rows: TableRows, event: RowChange) -> tuple[RowValues, RowValues | None]:
    """Apply a child's own change; return its row before and after, as far as known."""
    old: RowValues = dict(event.before or {})
    if event.before is not None and all(name in old for name in rows.key or rows.columns):
        old = {**(rows.take(rows.identity(old)) or {}), **old}
    if event.after is None:
        return old, None
    new = {**old, **event.after}
    if all(name in new for name in rows.columns):
        rows.put({name: new[name] for name in rows.columns})
    return old, new


def _lost(rows: TableRows, event: RowChange) -> str:
    """Return the columns of an inserted row that are not known."""
    if event.before is not None or event.after is None:
        return ""
    return ", ".join(name for name in rows.columns if name not in event.after)


def _differs(name: str, old: RowValues, new: RowValues) -> bool:
    if name not in new:
        return False
    return name not in old or _frozen(old[name]) != _frozen(new[name])


def _unknown(link: Link, old: RowValues, new: RowValues | None) -> str:
    """Return why it is not known which rows refer to a parent's row; empty if it is."""
    if lacking := [n for n in link.parent_columns if n not in old or (new and n not in new)]:
        return (
            f"changes of {link.parent} leave out {', '.join(lacking)}, which the foreign key needs"
            " (binlog_row_image)"
        )
    values = [old[name] for name in link.parent_columns]
    lossy = any(isinstance(value, str) and REPLACEMENT in value for value in values)
    if lossy or any(old[name] is None for name in link.zero_dates):
        return f"a row of {link.parent} has a value that gold cannot distinguish from others"
    return ""


def _frozen(value: Any) -> Any:
    """Return a hashable form of a value; doubles as text, since 0.0 and -0.0 differ."""
    if isinstance(value, float):
        return repr(value)
    if isinstance(value, dict):
        return tuple(map(_frozen, value.values()))
    return tuple(map(_frozen, value)) if isinstance(value, list) else value
