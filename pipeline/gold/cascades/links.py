"""Foreign keys in force over a batch, and where the batch must end because of them.

Cascades are computed from gold's rows before the batch, so a batch with a cascade to a table must
not change that table's definition: it ends before such a change, or a batch of its own applies it.

MySQL compares both sides of a foreign key by their collation, and Binlake does not include the
weight tables of its 300 collations. Texts with the same `loose` form may be equal in MySQL; texts
with different ones differ in every collation, except for rare contractions.
"""

from __future__ import annotations

import unicodedata
from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import groupby
from typing import Any

from decoder import TableDefinition
from decoder.constants import ZERO_DATE_TYPES, ColumnType
from decoder.model import ColumnDefinition
from pipeline.gold.changes.steps import model_after
from pipeline.gold.table.state import TableState
from pipeline.schema_history import TableName
from pipeline.schema_history.alter.items import TimelineItem
from pipeline.schema_history.ddl.foreign_key_clause import ForeignKey
from pipeline.schema_history.ddl.model import TableModel

Items = Mapping[TableName, Sequence[TimelineItem]]
RowIdentity = tuple[Any, ...]
"""Values that identify rows."""
_STAYS = ("version", "keys", "temporary")
"""Items that keep a table's columns and, unless the model says otherwise, its foreign keys."""
_SAME = ("type", "unsigned", "precision", "scale", "fraction", "labels")
"""The properties that two columns must share for their equal values to be equal in gold."""
_FIXED = (ColumnType.STRING, ColumnType.BIT)
"""Types that must also have the same length: InnoDB compares CHARs with their padding. If a
collation counts it (NO PAD), a CHAR only refers to one of the same length (on 9.7 it is kept when a
referenced VARCHAR is deleted)."""
BINARY_COLLATIONS = frozenset({46, 47, 55, 61, 62, 63, 65, 83, 90, 309})
"""IDs of utf8mb4_bin, latin1_bin, utf16_bin, utf32_bin, utf16le_bin, binary, ascii_bin,
utf8mb3_bin, ucs2_bin, utf8mb4_0900_bin. All others are treated as not binary."""
_LETTERS = str.maketrans("øđðłħıŋœæþy[\\]{|}", "oddlhinoatuaaoaoa")
"""latin1_swedish_ci sorts Ü as Y, and Å, Ä, Ö as the ISO 646 characters at their code points."""
_PAIRS = (("ae", "a"), ("oe", "o"), ("ue", "u"), ("th", "t"))
_LAST_OF_BMP = "\uffff"


@dataclass(frozen=True, slots=True)
class Link:
    """A foreign key in force: its effect on `child` if a row of `parent` is deleted or changed.

    `exact`: columns whose texts are equal only if their characters are. `zero_dates`: columns of
    the parent in which NULL may stand for a zero date. `computed`: columns of the child may be
    generated from these. `doubt`: why its effect is unknown; empty if it is known.
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

    def rough(self, values: Iterable[Any]) -> RowIdentity:
        """Return a form that is the same for all values that may be equal under a collation."""
        return tuple(
            value.rstrip(" ")
            if isinstance(value, str) and name in self.exact
            else loose(value)
            if isinstance(value, str)
            else value
            for name, value in zip(self.columns, values, strict=True)
        )


def cascading(
    states: Mapping[TableName, TableState], items: Items
) -> dict[TableName, list[ForeignKey]]:
    """Return, by table, the foreign keys that change its rows at any time in the batch.

    A held table has those of its current position, since tables that refer to it depend on them.
    """
    found = {}
    for name, state in states.items():
        keys = _over_time(state, items.get(name, ()))
        if keys := [key for key in keys if key.cascades]:
            found[name] = keys
    return found


def _over_time(state: TableState, items: Sequence[TimelineItem]) -> Iterable[ForeignKey]:
    """Return the foreign keys at the batch's start, and those added during it."""
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
    """Return the table that a foreign key names; some servers ignore case in it."""
    name = TableName(*parent)
    if name in known:
        return name
    alike = [n for n in known if str(n).casefold() == str(name).casefold()]
    return alike[0] if len(alike) == 1 else name


def ancestors(links: Iterable[Link]) -> dict[TableName, set[TableName]]:
    """Return, by child, the tables whose changes may change its rows, directly or indirectly."""
    parents: dict[TableName, set[TableName]] = defaultdict(set)
    for link in links:
        parents[link.child].add(link.parent)
    return {child: _closed({child}, parents) for child in parents}


def descendants(links: Iterable[Link], name: TableName) -> set[TableName]:
    """Return the tables whose rows may change if this table's rows do."""
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
    """Return True if the table is created at the start of its range, replacing gold's old rows."""
    return any(item.kind == "create" and item.lsn == state.from_lsn + 1 for item in items)


def changes_of(state: TableState, items: Sequence[TimelineItem]) -> list[int]:
    """Return the LSNs in a batch at which a table's columns or foreign keys change."""
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
    """Return a table's definition at the end of a transaction, or its last one before."""
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
    """Return the foreign keys as links, with their columns as gold names them."""
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
            f"{', '.join(other)} and the columns referred to in {parent} have different types"
            if other
            else ""
        ),
    )


def _named(definition: TableDefinition | None, names: Sequence[str]) -> list[ColumnDefinition]:
    """Return the columns of these names; none if one of them does not exist."""
    columns = definition.columns if definition else ()
    by_name = {column.name.casefold(): column for column in columns}
    found = [by_name.get(name.casefold()) for name in names]
    known = [column for column in found if column is not None]
    return known if len(known) == len(names) else []


def _alike(one: ColumnDefinition, two: ColumnDefinition) -> bool:
    return all(getattr(one, name) == getattr(two, name) for name in _SAME) and (
        one.length == two.length or one.type not in _FIXED
    )


# --- texts ----------------------------------------------------------------------------------------


def is_binary(column: ColumnDefinition) -> bool:
    """Return True if two texts of the column are equal only if their characters are."""
    return column.collation in BINARY_COLLATIONS


def loose(text: str) -> str:
    """Return a form that is the same for all texts that a collation may consider equal.

    Drops case, accents, width, kana type, trailing spaces and characters without weight; collapses
    repeated letters (`ß` equals `ss` and `s`); maps all characters outside the BMP to one, as
    utf8mb4_general_ci does.
    """
    decomposed = unicodedata.normalize("NFKD", unicodedata.normalize("NFKD", text).casefold())
    kept = (_base(c) for c in decomposed if unicodedata.category(c)[0] not in "MC")
    plain = "".join(kept).translate(_LETTERS)
    for pair, letter in _PAIRS:
        plain = plain.replace(pair, letter)
    return "".join(character for character, _ in groupby(plain)).rstrip()


def _base(character: str) -> str:
    if character > _LAST_OF_BMP:
        return "\ufffd"
    # Katakana to hiragana.
    return chr(ord(character) - 0x60) if "\u30a1" <= character <= "\u30f6" else character
