"""Find the tables whose definitions a logged statement may have changed.

A definition that a server returned at a position of its log is also valid before it, back to the
last such statement. So it is safe to return too many tables, but not too few.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from types import MappingProxyType
from typing import Any

from pipeline.catalog.ddl.effects import (
    AlterTable,
    CreateTable,
    CreateTableLike,
    DropSchema,
    DropTable,
    Effect,
    RenameTables,
    TableName,
    Unreadable,
    Unsupported,
)

EVERY_TABLE = TableName("", "")
"""Stands for all tables: the statement cannot be parsed."""


def touched(effects: Iterable[Effect]) -> Iterator[TableName]:
    """Yield the tables; a name without `table` stands for its whole schema.

    TRUNCATE, temporary tables, non-unique indexes and comments change no definition.
    """
    for effect in effects:
        if names := _NAMES.get(type(effect)):
            yield from names(effect)


def covers(touch: TableName, name: TableName) -> bool:
    """Return True if a name that `touched` yielded includes the table."""
    return touch in (name, TableName(name.schema, ""), EVERY_TABLE)


def _altered(effect: AlterTable) -> Iterator[TableName]:
    if effect.actions or effect.renamed:
        yield effect.name
    if effect.renamed:
        yield effect.renamed


_NAMES: MappingProxyType[type, Callable[[Any], Iterable[TableName]]] = MappingProxyType(
    {
        **dict.fromkeys(
            (CreateTable, CreateTableLike, DropTable, Unsupported), lambda effect: (effect.name,)
        ),
        AlterTable: _altered,
        RenameTables: lambda effect: (name for pair in effect.pairs for name in pair),
        DropSchema: lambda effect: (TableName(effect.schema, ""),),
        Unreadable: lambda _: (EVERY_TABLE,),
    }
)
