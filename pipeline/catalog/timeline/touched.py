"""Which tables' definitions a logged statement may have changed.

A definition that a server gave at a position of its log held before that, too, back to the last
such statement. So this must name rather too many tables than too few.
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
"""Stands for all tables: the statement cannot be read."""


def touched(effects: Iterable[Effect]) -> Iterator[TableName]:
    """Give the tables; one without `table` stands for all of its schema.

    TRUNCATE, a temporary table, an index that is not unique, or a comment change no definition.
    """
    for effect in effects:
        if names := _NAMES.get(type(effect)):
            yield from names(effect)


def covers(touch: TableName, name: TableName) -> bool:
    """Return True if the table is among those that `touched` gave as `touch`."""
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
