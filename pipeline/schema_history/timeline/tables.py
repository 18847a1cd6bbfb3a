"""The state of every table at a position of the log: the sum of its items so far.

`TableStates.add` is the only transition, for items read from the ledger as for new ones: a run that
continues a log starts from the state in which the previous run ended.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

from decoder import TableDefinition, TypeOptions
from pipeline.schema_history.alter.items import TimelineItem
from pipeline.schema_history.alter.layout_versions import Versions
from pipeline.schema_history.ddl.effects import TableName
from pipeline.schema_history.ddl.keys import DeclaredKeys, row_key
from pipeline.schema_history.ddl.model import TableModel
from pipeline.schema_history.timeline.column_names import NotNamedError, with_names

NO_NAMES = (
    "the log has neither its column names and keys (binlog_row_metadata is not FULL) nor its CREATE"
    " TABLE: let binlake seed, or binlake capture with a user that may SELECT it, read them from"
    " the server (or set definitions to a mysqldump --no-data of when the log begins), then"
    " run binlake retry"
)
_BEGINS = ("create", "seeded", "drop", "moved")
"""Kinds of items that reset a table's state."""
_ENDS = ("drop", "moved")
_WITH_ROWS = ("renamed", "seeded")
"""Kinds of items after which a table has rows even if no table map under its name has shown any."""


@dataclass(slots=True)
class TimelineTable:
    """The state of one table.

    `rows_seen`: a table map has shown it since it was created, or it had rows under another name;
    `declared`: its definition is, at least in part, from DDL; `keys_open`: DDL has changed its
    keys, and no table map has shown it since; `temporary`: connections have created temporary
    tables of its name; `rows_known`: every change of its rows since it was created or emptied is
    logged; `unseen`: so far nothing in the log defines it. A table may exist without a
    `definition`: then it was created empty, and the first table map defines it.
    """

    versions: Versions
    exists: bool = False
    rows_seen: bool = False
    declared: bool = False
    held: bool = False
    keys_open: bool = False
    definition: TableDefinition | None = None
    version: int | None = None
    model: TableModel | None = None
    temporary: bool = False
    rows_known: bool = True
    unseen: bool = False

    @property
    def certainly_empty(self) -> bool:
        """True if it cannot have rows: no table map has ever shown a table of its name.

        After a DROP and a CREATE, `rows_seen` alone is not enough: a segment's decoder reports a
        definition once while it does not change, even across the two.
        """
        return not self.rows_seen and not self.versions.any_shown

    @property
    def unnamed(self) -> bool:
        """True if it is held because the names of its columns are unknown."""
        return self.held and self.definition is not None and not self.definition.named

    @property
    def undefined(self) -> bool:
        """True if it was created empty and its definition is still unknown."""
        return self.exists and not self.held and self.definition is None

    def as_known(self, definition: TableDefinition) -> TableDefinition | None:
        """Return its known definition, with the key of `definition` if DDL has left that open."""
        if self.definition is None or not self.keys_open:
            return self.definition
        return replace(
            self.definition,
            primary_key=definition.primary_key,
            primary_key_prefixes=definition.primary_key_prefixes,
        )

    def named(self, shown: TableDefinition, default_charset: str | None) -> TableDefinition:
        """Return an unnamed table map's definition with known names. Raises `NotNamedError`."""
        known = self.definition
        if known is None or not known.named:
            raise NotNamedError(NO_NAMES)
        complete = known.complete_metadata and not self.declared
        keys = (self.model and self.model.keys) or ()
        columns = {column.name.casefold(): column for column in known.columns}
        found = with_names(
            shown,
            known,
            default_charset=default_charset,
            complete=complete,
            hashes=sum(key.may_need_hash(columns) for key in keys),
        )
        if not self.keys_open:
            return replace(
                found,
                primary_key=known.primary_key,
                primary_key_prefixes=known.primary_key_prefixes,
            )
        return with_key(found, self.model.keys if self.model else None)


class TableStates:
    """The states of tables by name; `new` are the items that were not in the ledger.

    `charsets` has the default charset of each schema, where known.
    """

    def __init__(self, past: Iterable[TimelineItem], types: TypeOptions) -> None:
        self._types = types
        self._states: dict[TableName, TimelineTable] = {}
        self.charsets: dict[str, str | None] = {}
        self.new: list[TimelineItem] = []
        for item in past:
            self._apply(item)

    def __getitem__(self, name: TableName) -> TimelineTable:
        return self._states.setdefault(name, TimelineTable(Versions(self._types)))

    def respelled(self, name: TableName) -> TableName | None:
        """Return an existing table whose name differs from this one only in case, or None."""
        folded = str(name).casefold()
        others = (n for n, t in self._states.items() if t.exists and str(n).casefold() == folded)
        return next((other for other in sorted(others) if other != name), None)

    def respelled_schema(self, schema: str) -> list[TableName]:
        """Return the tables of schemas whose names differ from this one only in case."""
        schemas = {name.schema for name in self._states if name.schema != schema}
        others = sorted(other for other in schemas if other.casefold() == schema.casefold())
        return [name for other in others for name in self.existing(other)]

    def existing(self, schema: str) -> list[TableName]:
        """Return the tables of a schema, sorted."""
        return [n for n in sorted(self._states) if n.schema == schema and self._states[n].exists]

    def with_foreign_keys(self) -> list[TableName]:
        """Return the tables that have foreign keys, sorted."""
        return [
            name
            for name, table in sorted(self._states.items())
            if table.exists and table.model and table.model.foreign_keys
        ]

    def add(self, item: TimelineItem) -> None:
        """Apply a new item."""
        self.new.append(item)
        self._apply(item)

    def _apply(self, item: TimelineItem) -> None:
        if item.kind == "schema":
            self.charsets[item.schema] = item.model.charset if item.model else None
            return
        if item.kind == "mentioned":
            return
        table = self[item.name]
        if item.kind == "temporary":
            table.temporary = True
            return
        if item.kind == "declared":
            _declare(table, item)
            return
        if item.kind == "model":
            table.model = item.model
            return
        if item.kind == "rewound":
            # Numbers of silver's tables are never reused.
            table.versions.open.clear()
            self._states[item.name] = TimelineTable(table.versions)
            return
        self._change(table, item)

    def _change(self, table: TimelineTable, item: TimelineItem) -> None:
        # Items from a table map have no statement.
        shown = item.statement is None and item.definition is not None
        if item.kind in _BEGINS or item.kind == "renamed":
            table.rows_seen, table.held, table.keys_open = False, False, False
            table.rows_known = True
            table.definition, table.version = None, None
            # A table map only corrects what DDL created, and has none of the model's properties.
            table.model = table.model if shown and item.kind == "create" else None
        table.exists = item.kind not in _ENDS
        table.held = table.held or item.kind == "unsupported"
        if item.kind in ("truncate", "rows_not_logged"):
            table.rows_known = item.kind == "truncate"
        table.rows_seen = table.rows_seen or shown or item.kind in _WITH_ROWS
        # Without a primary key, the server logs a NOT NULL UNIQUE key in its place.
        open_key = item.definition is not None and not item.definition.primary_key
        table.keys_open = not shown and (table.keys_open or item.kind == "keys" or open_key)
        if item.model is not None or (not shown and item.definition is not None):
            table.model = item.model
        if item.definition is not None or item.kind in _ENDS:
            table.unseen = False
        if item.definition is not None and item.version is not None:
            table.versions.keep(item.version, item.definition, from_table_map=shown)
            table.definition, table.version = item.definition, item.version
            table.declared = not shown or not item.definition.complete_metadata


def _declare(table: TimelineTable, item: TimelineItem) -> None:
    """Apply a definition from outside the log; without one, the table no longer exists."""
    table.exists = table.unseen = table.declared = item.definition is not None
    table.rows_seen, table.held = False, False
    table.definition, table.version, table.model = item.definition, item.version, item.model
    if item.definition is not None and item.version is not None:
        table.versions.keep(item.version, item.definition, from_table_map=False)
        table.keys_open = not item.definition.primary_key


def with_key(definition: TableDefinition, keys: DeclaredKeys) -> TableDefinition:
    """Return the definition with the key that identifies its rows, if one is known."""
    not_null = [column.name for column in definition.columns if not column.nullable]
    key = row_key(keys or (), not_null)
    places = {column.name.casefold(): n for n, column in enumerate(definition.columns)}
    if key is None or not all(name.casefold() in places for name in key.columns):
        return definition
    return replace(
        definition,
        primary_key=tuple(places[name.casefold()] for name in key.columns),
        primary_key_prefixes=key.prefixes,
    )
