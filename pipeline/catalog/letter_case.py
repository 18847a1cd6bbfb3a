"""Names of tables and schemas in lower case, as a server with lower_case_table_names has them.

With 1 and 2 the server's TABLE_MAP events have names in lower case, while statements are logged as
they were typed.
"""

from __future__ import annotations

from dataclasses import replace

from pipeline.catalog.effects import (
    AlterSchema,
    AlterTable,
    CreateSchema,
    CreateTable,
    CreateTableLike,
    DropSchema,
    Effect,
    RenameTables,
    TableName,
    Unreadable,
)


def in_lower_case(effect: Effect) -> Effect:
    """The effect on the tables of these names."""
    if isinstance(effect, (CreateSchema, AlterSchema, DropSchema)):
        return replace(effect, schema=effect.schema.lower())
    if isinstance(effect, RenameTables):
        return RenameTables(tuple((lower(old), lower(new)) for old, new in effect.pairs))
    if isinstance(effect, Unreadable):
        return effect
    named = replace(effect, name=lower(effect.name))
    if isinstance(named, CreateTable):
        definition = replace(named.definition, schema=named.name.schema, table=named.name.table)
        return replace(named, definition=definition)
    if isinstance(named, CreateTableLike) and named.model:
        return replace(named, model=lower(named.model))
    if isinstance(named, AlterTable) and named.renamed:
        return replace(named, renamed=lower(named.renamed))
    return named


def lower(name: TableName) -> TableName:
    """The name in lower case."""
    return TableName(name.schema.lower(), name.table.lower())
