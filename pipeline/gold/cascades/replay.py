"""What foreign keys do to the rows of child tables, change by change, as InnoDB does it.

Pure Python over the few rows that may be concerned: a change of a parent finds its children by what
they refer to, and each of them that goes or is changed is a parent's change itself. What comes out
are changes of the children, each at the place of the change that brought it about.

Values are compared as they are. Where a collation may compare otherwise, and where something is not
known, the child is told in `doubts`: nothing is guessed.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from pipeline.catalog import TableName
from pipeline.gold.table.loose_text import loose

Values = dict[str, Any]
Place = tuple[int, int, int]
"""LSN, position, number of the row: where a change is in the log."""
Identity = tuple[Any, ...]
MAX_DEPTH = 64
"""More than InnoDB's own limit of levels (15)."""
REPLACEMENT = "\ufffd"


@dataclass(frozen=True, slots=True)
class Link:
    """A foreign key in force: what `child` does when a row of `parent` goes or is changed.

    `exact`: the columns whose texts are the same only with the same characters. `zero_dates`: those
    of the parent in which NULL may stand for a value that is none. `computed`: columns of the child
    may be generated from these. `doubt`: why nothing can be said of it, or empty.
    """

    child: TableName
    columns: tuple[str, ...]
    parent: TableName
    parent_columns: tuple[str, ...]
    on_delete: str = ""
    on_update: str = ""
    exact: frozenset[str] = frozenset()
    zero_dates: frozenset[str] = frozenset()
    computed: bool = False
    doubt: str = ""

    def rough(self, values: Iterable[Any]) -> Identity:
        """What values that refer to one another have in common."""
        return tuple(
            value.rstrip(" ")
            if isinstance(value, str) and name in self.exact
            else loose(value)
            if isinstance(value, str)
            else value
            for name, value in zip(self.columns, values, strict=True)
        )


@dataclass(frozen=True, slots=True)
class Event:
    """A change of a row in the log; an image holds what it says, and what is asked for of it.

    `unlogged`: what foreign keys do about it is not in the log. `after` is None for a delete,
    `before` for an insert. `doubt`: why `unlogged` is not known, if it is not.
    """

    place: Place
    table: TableName
    before: Values | None
    after: Values | None
    unlogged: bool
    committed_at: Any = None
    doubt: str = ""


@dataclass(frozen=True, slots=True)
class Cascaded:
    """A change that a foreign key makes, the `number`-th that the one at `place` brings about.

    `before` has what is known of the row, `after` the columns that are changed (None: it is gone).
    """

    place: Place
    number: int
    table: TableName
    before: Values
    after: Values | None
    committed_at: Any


@dataclass(slots=True)
class Rows:
    """The rows of a child that are known; `key` is empty where only all columns tell rows apart.

    Changes at LSNs of up to `since` are in them already, those behind `until` do not come to them.
    `columns`: what is asked for of a row. `carried` are those of them that every change tells: left
    out, they would count as not known. `complete`: gold has all rows of the table.
    """

    key: tuple[str, ...]
    columns: tuple[str, ...]
    since: int
    until: int
    links: tuple[Link, ...]
    complete: bool = True
    carried: tuple[str, ...] = ()
    rows: dict[Identity, list[Values]] = field(default_factory=dict)
    index: dict[tuple[int, Identity], dict[Identity, None]] = field(
        default_factory=lambda: defaultdict(dict)
    )

    def takes(self, event: Event) -> bool:
        """Whether a change is one of those that come to these rows."""
        return self.since < event.place[0] <= self.until

    def identity(self, row: Values) -> Identity:
        """What tells the row from others."""
        return tuple(_frozen(row[name]) for name in self.key or self.columns)

    def put(self, row: Values) -> None:
        """A row is there; of those without a key, one more."""
        identity = self.identity(row)
        if self.key and identity in self.rows:
            self.take(identity)
        self.rows.setdefault(identity, []).append(row)
        for place in self._places(row):
            self.index[place][identity] = None

    def take(self, identity: Identity) -> Values | None:
        """A row goes; None where it is not among these."""
        copies = self.rows.get(identity)
        if not copies:
            return None
        row = copies.pop()
        if not copies:
            del self.rows[identity]
            for place in self._places(row):
                self.index[place].pop(identity, None)
        return row

    def referring(self, link: Link, values: Identity) -> list[Identity]:
        """The rows that may refer to these values."""
        return list(self.index.get((self.links.index(link), link.rough(values)), ()))

    def _places(self, row: Values) -> Iterator[tuple[int, Identity]]:
        for number, link in enumerate(self.links):
            values = [row[name] for name in link.columns]
            if None not in values:
                yield number, link.rough(values)


class Replay:
    """Takes changes in order; gives what foreign keys make of them.

    `children` are the tables that foreign keys change. `loaded` says, by link, which values all
    referring rows are known of; others that are asked for are told in `missing`, and then what came
    out counts for nothing.
    """

    def __init__(
        self,
        links: Iterable[Link],
        children: Mapping[TableName, Rows],
        loaded: Mapping[Link, set[Identity]],
    ) -> None:
        self._children = children
        self._loaded = loaded
        self._by_parent: dict[TableName, list[Link]] = defaultdict(list)
        for link in links:
            self._by_parent[link.parent].append(link)
        self.cascaded: list[Cascaded] = []
        self.missing: dict[Link, set[Identity]] = defaultdict(set)
        self.doubts: dict[tuple[TableName, int], str] = {}
        self.lacks: dict[tuple[TableName, int], str] = {}
        self._number = 0

    def take(self, event: Event) -> None:
        """One change, and what it brings about."""
        self._number = 0
        rows = self._children.get(event.table)
        old: Values = dict(event.before or {})
        new: Values | None = None
        if rows is not None and rows.takes(event):
            old, new = _changed(rows, event)
            if lost := _lost(rows, event):
                reason = f"an insert leaves out {lost}, and the DEFAULT that it takes is not known"
                self._doubt(event, event.table, reason)
        elif event.after is not None:
            new = {**old, **event.after}
        if event.unlogged and event.before is not None:
            self._fire(event, event.table, old, new, 0)

    def _fire(
        self, event: Event, parent: TableName, old: Values, new: Values | None, depth: int
    ) -> None:
        """Do what foreign keys say about a parent's row that goes (`new` None) or is changed."""
        for link in self._by_parent.get(parent, ()):
            action = link.on_delete if new is None else link.on_update
            if not action or not _concerns(link, old, new):
                continue
            rows = self._children[link.child]
            if rows.takes(event):
                self._act(event, link, action, old, new, depth)
            elif event.place[0] > rows.until:
                self._doubt_below(event, link.child, "changes of {} are not applied")
            else:
                # Gold is behind it with that table, and has not got the rows that it changed.
                self._doubt_below(event, link.child, "rows of {} have changed meanwhile")

    def _act(
        self, event: Event, link: Link, action: str, old: Values, new: Values | None, depth: int
    ) -> None:
        doubt = link.doubt or _unknown(link, old, new)
        if doubt or depth > MAX_DEPTH:
            self._doubt(event, link.child, doubt or "they change each other without an end")
            return
        values = tuple(old[name] for name in link.parent_columns)
        if None in values:
            return
        rough = link.rough(values)
        if rough not in self._loaded.get(link, set()):
            self.missing[link].add(rough)
            return
        if not self._children[link.child].complete:
            self._doubt_below(event, link.child, "gold lacks rows of {}", self.lacks)
        leaves = new is None and action == "CASCADE"
        computed = "" if leaves or not link.computed else "columns of it are generated from them"
        for identity in self._referring(event, link, values, event.doubt or computed):
            self._change(event, link, action, identity, new, depth)

    def _referring(
        self, event: Event, link: Link, values: Identity, doubt: str
    ) -> Iterator[Identity]:
        """The rows that refer to these values, each as often as it is there; `doubt`: why nothing
        can be said of any."""
        rows = self._children[link.child]
        for identity in rows.referring(link, values):
            copies = rows.rows.get(identity, [])
            if copies and doubt:
                self._doubt(event, link.child, doubt)
            elif copies and tuple(copies[-1][name] for name in link.columns) != values:
                told = ", ".join(map(repr, values))
                other = (
                    f"a row of {link.parent} with {told} goes or is changed, and whether rows that"
                    " spell it in another way refer to it depends on their collation"
                )
                self._doubt(event, link.child, other)
            else:
                yield from [identity] * len(copies)

    def _change(
        self,
        event: Event,
        link: Link,
        action: str,
        identity: Identity,
        new: Values | None,
        depth: int,
    ) -> None:
        rows = self._children[link.child]
        row = rows.take(identity)
        if row is None:
            return
        after: Values | None = None
        changed: Values | None = None
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
        told = after if not rows.key else changed
        self.cascaded.append(
            Cascaded(event.place, self._number, link.child, row, told, event.committed_at)
        )
        self._fire(event, link.child, row, after, depth + 1)

    def _doubt_below(
        self,
        event: Event,
        table: TableName,
        reason: str,
        found: dict[tuple[TableName, int], str] | None = None,
    ) -> None:
        """What becomes of tables whose rows change with this one's is not known."""
        for child in self._below(table):
            if self._children[child].takes(event):
                told = self.doubts if found is None else found
                told.setdefault((child, event.place[0]), reason.format(table))

    def _below(self, table: TableName) -> set[TableName]:
        found: set[TableName] = set()
        left = {table}
        while left:
            left = {one.child for name in left for one in self._by_parent.get(name, ())} - found
            found |= left
        return found

    def _doubt(self, event: Event, child: TableName, reason: str) -> None:
        self.doubts.setdefault((child, event.place[0]), reason)


def _concerns(link: Link, old: Values, new: Values | None) -> bool:
    """Whether a parent's row goes, or what a key refers to is changed; an image may leave it out,
    since it stays."""
    return new is None or any(_differs(name, old, new) for name in link.parent_columns)


def _changed(rows: Rows, event: Event) -> tuple[Values, Values | None]:
    """Carry out a child's own change; what its row was, and is, as far as it is known."""
    old: Values = dict(event.before or {})
    if event.before is not None and all(name in old for name in rows.key or rows.columns):
        old = {**(rows.take(rows.identity(old)) or {}), **old}
    if event.after is None:
        return old, None
    new = {**old, **event.after}
    if all(name in new for name in rows.columns):
        rows.put({name: new[name] for name in rows.columns})
    return old, new


def _lost(rows: Rows, event: Event) -> str:
    """What is not known of a row that is inserted."""
    if event.before is not None or event.after is None:
        return ""
    return ", ".join(name for name in rows.columns if name not in event.after)


def _differs(name: str, old: Values, new: Values) -> bool:
    if name not in new:
        return False
    return name not in old or _frozen(old[name]) != _frozen(new[name])


def _unknown(link: Link, old: Values, new: Values | None) -> str:
    """Why it cannot be told which rows refer to a parent's row, if it cannot."""
    if lacking := [n for n in link.parent_columns if n not in old or (new and n not in new)]:
        return (
            f"changes of {link.parent} leave out {', '.join(lacking)}, which it refers to"
            " (binlog_row_image)"
        )
    values = [old[name] for name in link.parent_columns]
    lossy = any(isinstance(value, str) and REPLACEMENT in value for value in values)
    if lossy or any(old[name] is None for name in link.zero_dates):
        return f"a row of {link.parent} has a value that gold cannot tell from others"
    return ""


def _frozen(value: Any) -> Any:
    """A value as part of an identity; doubles by their digits, since 0.0 and -0.0 are two."""
    if isinstance(value, float):
        return repr(value)
    if isinstance(value, dict):
        return tuple(map(_frozen, value.values()))
    return tuple(map(_frozen, value)) if isinstance(value, list) else value
