"""Assign definitions to silver's tables `v<N>`.

A version stands for one layout: names, types, charsets and key. A layout that returns (a table
dropped and re-created unchanged) gets its old number, so a definition alone determines its version.
A definition declared by DDL is known before a table map shows it, but incompletely (collations,
bytes per character): its version is open until the first table map that fits it.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from decoder import TableDefinition, TypeOptions
from decoder.columns import reader, row_type
from decoder.errors import UnsupportedError
from decoder.model import ColumnDefinition


def layout(definition: TableDefinition) -> TableDefinition:
    """Return the definition without properties that do not affect how rows are stored."""
    columns = tuple(replace(c, nullable=True, visible=True) for c in definition.columns)
    return replace(definition, columns=columns, complete_metadata=True, signedness_logged=True)


def fits(one: TableDefinition, other: TableDefinition, options: TypeOptions) -> bool:
    """Return True if both have the same columns (names and Delta types, in order) and key."""
    if one.primary_key != other.primary_key or len(one.columns) != len(other.columns):
        return False
    try:
        return bool(row_type(one, options) == row_type(other, options))
    except UnsupportedError:
        return layout(one) == layout(other)


def difference(one: TableDefinition, other: TableDefinition, options: TypeOptions) -> str:
    """Describe the first difference between two definitions, for messages."""
    if len(one.columns) != len(other.columns):
        return f"it had {len(one.columns)} columns and now has {len(other.columns)}"
    for before, after in zip(one.columns, other.columns, strict=True):
        was, now = _shown(before, options), _shown(after, options)
        if was != now:
            return f"column {was} became {now}"
    if one.primary_key != other.primary_key:
        return "its primary key changed"
    return "character sets, lengths or labels of its columns changed"


def _shown(column: ColumnDefinition, options: TypeOptions) -> str:
    try:
        return f"{column.name} {column.type.name} ({reader(column, options).arrow_type})"
    except UnsupportedError:
        return f"{column.name} {column.type.name}"


@dataclass(slots=True)
class Versions:
    """A table's versions by number.

    `open` are those that no table map has shown yet; `last_shown` is the one of the last table map.
    """

    options: TypeOptions
    definitions: dict[int, TableDefinition] = field(default_factory=dict)
    open: set[int] = field(default_factory=set)
    last_shown: int | None = None

    @property
    def any_shown(self) -> bool:
        """True if a table map has shown any of them."""
        return len(self.open) < len(self.definitions)

    def declared(self, definition: TableDefinition) -> int:
        """Return the number for a definition that DDL declares: the latest that fits, or a new one.

        Of those that fit, the last one shown is preferred: if all changes since cancelled out, the
        log need not show it again.
        """
        fitting = [n for n, d in self.definitions.items() if fits(definition, d, self.options)]
        if self.last_shown in fitting:
            return self.last_shown
        return max(fitting, default=self._next())

    def shown(self, definition: TableDefinition) -> int | None:
        """Return the number of exactly this layout if a table map has shown it."""
        wanted = layout(definition)
        for number, known in self.definitions.items():
            if number not in self.open and layout(known) == wanted:
                return number
        return None

    def for_table_map(self, definition: TableDefinition, current: int | None) -> int:
        """Return the number for a table map: its own, the open one that fits, or a new one."""
        number = self.shown(definition)
        if number is not None:
            return number
        if current in self.open and fits(definition, self.definitions[current], self.options):
            return current
        return self._next()

    def keep(self, number: int, definition: TableDefinition, *, from_table_map: bool) -> None:
        """Bind a number to a definition; one from a table map takes precedence over later DDL."""
        if from_table_map:
            self.open.discard(number)
            self.last_shown = number
            self.definitions[number] = definition
        elif number not in self.definitions:
            self.open.add(number)
            self.definitions[number] = definition

    def _next(self) -> int:
        return max(self.definitions, default=0) + 1
