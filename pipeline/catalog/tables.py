"""Every table as it stands in the log: what its items so far add up to.

`Tables.add` is the one transition, for items read from the ledger as for new ones: a run that
continues another's log stands where that one stood.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

from decoder.definition import TableDefinition
from decoder.options import TypeOptions
from pipeline.catalog.effects import TableName
from pipeline.catalog.items import TimelineItem
from pipeline.catalog.model import TableModel
from pipeline.catalog.versions import Versions

_BEGINS = ("create", "drop", "moved")
"""Items after which nothing of before counts."""
_ENDS = ("drop", "moved")


@dataclass(slots=True)
class TableState:
    """A table as it stands.

    `rows_seen`: a table map has shown it since it began, or it had rows under another name;
    `declared`: its definition is from DDL; `keys_open`: DDL has changed its keys, and no table map
    has shown it since; `temporary`: connections have had tables of its name; `rows_known`: nothing
    has changed its rows outside of the log since it began or was empty. It may exist without a
    `definition`: then it began empty, and the first table map tells what it is.
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

    @property
    def certainly_empty(self) -> bool:
        """Whether no row can be in it: no table map has shown a table of its name, ever.

        After a DROP and a CREATE, `rows_seen` alone does not tell: a segment's decoder gives a
        definition once while it stays the same, also across the two.
        """
        return not self.rows_seen and not self.versions.any_shown

    def as_known(self, definition: TableDefinition) -> TableDefinition | None:
        """What is known of it, with the key of `definition` where DDL has left that open."""
        if self.definition is None or not self.keys_open:
            return self.definition
        return replace(
            self.definition,
            primary_key=definition.primary_key,
            primary_key_prefixes=definition.primary_key_prefixes,
        )


class Tables:
    """The tables by name; `new` holds the items that were not in the ledger."""

    def __init__(self, past: Iterable[TimelineItem], types: TypeOptions) -> None:
        self._types = types
        self._states: dict[TableName, TableState] = {}
        self.new: list[TimelineItem] = []
        for item in past:
            self._apply(item)

    def __getitem__(self, name: TableName) -> TableState:
        return self._states.setdefault(name, TableState(Versions(self._types)))

    def respelled(self, name: TableName) -> TableName | None:
        """A table that there is, whose name differs from this one by its letters' case alone."""
        folded = str(name).casefold()
        others = (n for n, t in self._states.items() if t.exists and str(n).casefold() == folded)
        return next((other for other in sorted(others) if other != name), None)

    def existing(self, schema: str) -> list[TableName]:
        """The tables of a schema, in order."""
        return [n for n in sorted(self._states) if n.schema == schema and self._states[n].exists]

    def add(self, item: TimelineItem) -> None:
        """Take in a new item."""
        self.new.append(item)
        self._apply(item)

    def _apply(self, item: TimelineItem) -> None:
        table = self[item.name]
        if item.kind == "temporary":
            table.temporary = True
            return
        if item.kind == "model":
            table.model = item.model
            return
        # What a table map shows has no statement beside it.
        shown = item.statement is None and item.definition is not None
        if item.kind in _BEGINS or item.kind == "renamed":
            table.rows_seen, table.held, table.keys_open = False, False, False
            table.rows_known = True
            table.definition, table.version = None, None
            # A table map only shows otherwise what DDL has begun, and tells nothing besides.
            table.model = table.model if shown and item.kind == "create" else None
        table.exists = item.kind not in _ENDS
        table.held = table.held or item.kind == "unsupported"
        if item.kind in ("truncate", "rows_not_logged"):
            table.rows_known = item.kind == "truncate"
        table.rows_seen = table.rows_seen or shown or item.kind == "renamed"
        # Without a primary key, the server logs a NOT NULL UNIQUE one as such.
        open_key = item.definition is not None and not item.definition.primary_key
        table.keys_open = not shown and (table.keys_open or item.kind == "keys" or open_key)
        if item.model is not None or (not shown and item.definition is not None):
            table.model = item.model
        if item.definition is not None and item.version is not None:
            table.versions.keep(item.version, item.definition, from_table_map=shown)
            table.definition, table.version = item.definition, item.version
            table.declared = not shown
