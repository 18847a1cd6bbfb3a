"""Lowercase table and schema names, for servers with lower_case_table_names 1 or 2.

Their TABLE_MAP events have lower-case names, while statements are logged as typed.
"""

from __future__ import annotations

from dataclasses import replace

from pipeline.catalog.ddl.actions import Action, AddColumn, AddForeignKey, ChangeColumn
from pipeline.catalog.ddl.effects import (
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
from pipeline.catalog.ddl.foreign_key import ForeignKey


def in_lower_case(effect: Effect) -> Effect:
    """Return the effect with lower-case table names."""
    if isinstance(effect, (CreateSchema, AlterSchema, DropSchema)):
        return replace(effect, schema=effect.schema.lower())
    if isinstance(effect, RenameTables):
        return RenameTables(tuple((lower(old), lower(new)) for old, new in effect.pairs))
    if isinstance(effect, Unreadable):
        return effect
    named = replace(effect, name=lower(effect.name))
    if isinstance(named, CreateTable):
        definition = replace(named.definition, schema=named.name.schema, table=named.name.table)
        keys = tuple(map(_key, named.foreign_keys))
        return replace(named, definition=definition, foreign_keys=keys)
    if isinstance(named, CreateTableLike) and named.model:
        return replace(named, model=lower(named.model))
    if isinstance(named, AlterTable):
        renamed = named.renamed and lower(named.renamed)
        return replace(named, renamed=renamed, actions=tuple(map(_action, named.actions)))
    return named


def _action(action: Action) -> Action:
    """Return the action with the parents of its foreign keys in lower case."""
    if isinstance(action, AddForeignKey):
        return replace(action, key=_key(action.key))
    if isinstance(action, (AddColumn, ChangeColumn)) and action.column.references:
        column = replace(action.column, references=_key(action.column.references))
        return replace(action, column=column)
    return action


def _key(key: ForeignKey) -> ForeignKey:
    schema, table = key.parent
    return replace(key, parent=(schema.lower(), table.lower()))


def lower(name: TableName) -> TableName:
    """Return the name in lower case."""
    return TableName(name.schema.lower(), name.table.lower())
