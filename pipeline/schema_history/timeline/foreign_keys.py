"""Track the foreign keys of tables through CREATE, ALTER and RENAME TABLE."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import replace

from pipeline.schema_history.alter.altered_columns import Alteration, NotAppliedError
from pipeline.schema_history.ddl.actions import (
    Action,
    AddColumn,
    AddForeignKey,
    ChangeColumn,
    DropForeignKey,
    SetEngine,
)
from pipeline.schema_history.ddl.effects import CreateTable, TableName
from pipeline.schema_history.ddl.foreign_key_clause import (
    ForeignKey,
    named,
    renamed_columns,
    renamed_table,
)
from pipeline.schema_history.ddl.model import TableModel
from pipeline.schema_history.timeline.logged_statement import LoggedStatement
from pipeline.schema_history.timeline.tables import TableStates

_INLINE_IN_MYSQL, _INLINE_IN_MARIADB = 90000, 100500
"""Before these versions, REFERENCES in a column's declaration is parsed and discarded."""

Renamed = Mapping[TableName, TableName]


def created(effect: CreateTable, statement: LoggedStatement) -> tuple[ForeignKey, ...]:
    """Return the foreign keys of a new table."""
    keys = _real(effect.foreign_keys, statement)
    return named(keys, effect.name.schema, effect.name.table)


def altered(
    name: TableName, change: Alteration, actions: Iterable[Action], statement: LoggedStatement
) -> TableModel | None:
    """Return the model of `change`, with its foreign keys changed by the statement's actions.

    Raises `NotAppliedError`.
    """
    existing = {step.old for step in change.steps}
    actions = [action for action in actions if not _adds_nothing(action, existing)]
    added = list(_added(actions))
    model = change.model
    if model is None:
        if reason := unknown(actions):
            raise NotAppliedError(reason)
        return None
    model = _with_engine(model, actions)
    if not model.has_foreign_keys:
        return model
    old = [_following(key, {}, {name: _columns(change)}) for key in model.foreign_keys]
    new = [key for key, unless in added if not (unless and _has(old, key.name))]
    found = named(_real(new, statement), name.schema, name.table, old)
    kept = _without_dropped(found[: len(old)], actions)
    return replace(model, foreign_keys=(*kept, *found[len(old) :]))


def _with_engine(model: TableModel, actions: Iterable[Action]) -> TableModel:
    """Return the model with the engine that a statement names, if that affects foreign keys."""
    named = [action.engine for action in actions if isinstance(action, SetEngine)]
    moved = replace(model, engine=named[-1]) if named else model
    return moved if moved.has_foreign_keys != model.has_foreign_keys else model


def unknown(actions: Iterable[Action]) -> str:
    """Return why these actions cannot be applied to a table without known DDL, or ""."""
    if not any(key.cascades for key, _ in _added(actions)):
        return ""
    return "a cascading foreign key is added to a table whose CREATE TABLE is not in the log"


def renamed(model: TableModel | None, old: TableName, moved: Renamed) -> TableModel | None:
    """Return the model of a renamed table; `moved` maps old names to new ones."""
    if model is None:
        return None
    keys = (_following(key, moved, {}) for key in model.foreign_keys)
    new = moved[old].table
    return replace(model, foreign_keys=tuple(renamed_table(k, old.table, new) for k in keys))


def following(
    tables: TableStates, moved: Renamed, change: tuple[TableName, Alteration] | None = None
) -> Iterator[tuple[TableName, TableModel]]:
    """Yield other tables whose foreign keys follow renamed tables or a table's renamed columns."""
    columns = {change[0]: _columns(change[1])} if change else {}
    for name in tables.with_foreign_keys():
        model = tables[name].model
        if model is None or name in moved or name in columns:
            continue
        keys = tuple(_following(key, moved, columns) for key in model.foreign_keys)
        if keys != model.foreign_keys:
            yield name, replace(model, foreign_keys=keys)


def _following(
    key: ForeignKey, moved: Renamed, columns: Mapping[TableName, Mapping[str, str | None]]
) -> ForeignKey:
    parent = TableName(*key.parent)
    now = moved.get(parent, parent)
    names = renamed_columns(key.parent_columns, columns.get(parent, {}))
    return replace(key, parent=(now.schema, now.table), parent_columns=names or ())


def _columns(change: Alteration) -> dict[str, str | None]:
    return {step.old: step.name for step in change.steps if step.old is not None}


def _added(actions: Iterable[Action]) -> Iterator[tuple[ForeignKey, bool]]:
    """Yield the added keys, each with its IF NOT EXISTS."""
    for action in actions:
        if isinstance(action, AddForeignKey):
            yield action.key, action.if_not_exists
        elif isinstance(action, (AddColumn, ChangeColumn)) and action.column.references:
            yield action.column.references, False


def _adds_nothing(action: Action, columns: Collection[str | None]) -> bool:
    """Return True if ADD COLUMN IF NOT EXISTS is a no-op, because the column exists."""
    return (
        isinstance(action, AddColumn)
        and action.if_not_exists
        and action.column.definition.name in columns
    )


def _real(keys: Iterable[ForeignKey], statement: LoggedStatement) -> list[ForeignKey]:
    """Return the keys that the server does not discard."""
    version = statement.server_version or 0
    first = _INLINE_IN_MARIADB if statement.mariadb else _INLINE_IN_MYSQL
    return [key for key in keys if not key.inline or version >= first]


def _has(keys: Iterable[ForeignKey], name: str) -> bool:
    return any(key.name.casefold() == name.casefold() for key in keys)


def _without_dropped(
    keys: tuple[ForeignKey, ...], actions: Iterable[Action]
) -> tuple[ForeignKey, ...]:
    for action in actions:
        if not isinstance(action, DropForeignKey):
            continue
        known = _has(keys, action.name) or action.if_exists or action.may_be_another
        if not known and any(key.cascades for key in keys):
            raise NotAppliedError(f"the unknown foreign key {action.name} is dropped")
        keys = tuple(key for key in keys if key.name.casefold() != action.name.casefold())
    return keys
