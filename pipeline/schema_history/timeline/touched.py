"""Find the tables whose definitions a logged statement may have changed.

A definition that a server returned at a position of its log is also valid before it, back to the
last such statement. So it is safe to return too many tables, but not too few.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from pipeline.schema_history.ddl.effects import (
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
        if isinstance(effect, (CreateTable, CreateTableLike, DropTable, Unsupported)):
            yield effect.name
        elif isinstance(effect, AlterTable) and effect.renamed:
            yield from (effect.name, effect.renamed)
        elif isinstance(effect, AlterTable) and effect.actions:
            yield effect.name
        elif isinstance(effect, RenameTables):
            yield from (name for pair in effect.pairs for name in pair)
        elif isinstance(effect, DropSchema):
            yield TableName(effect.schema, "")
        elif isinstance(effect, Unreadable):
            yield EVERY_TABLE


def covers(touch: TableName, name: TableName) -> bool:
    """Return True if a name that `touched` yielded includes the table."""
    return touch in (name, TableName(name.schema, ""), EVERY_TABLE)
