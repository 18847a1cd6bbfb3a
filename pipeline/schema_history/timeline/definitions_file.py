"""Read the table definitions at the start of the log from `definitions`, a dump or YAML.

A YAML file maps `schema.table` to a CREATE TABLE statement, or to a mapping of `columns` (name to
type, as in DDL) and, optionally, `primary_key` (columns), `unique` (lists of columns) and
`charset`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import yaml

from pipeline.errors import SettingsError
from pipeline.lake.sql_text import quoted
from pipeline.schema_history.ddl.ddl import StatementContext, effects
from pipeline.schema_history.ddl.effects import (
    CreateTable,
    DropSchema,
    DropTable,
    TableName,
    Unreadable,
    Unsupported,
)
from pipeline.schema_history.ddl.schema_dump import DumpedStatement, dumped_at, dumped_statements
from pipeline.source.logs.storage import opened

_REMEDY = (
    "Use the output of `mysqldump --no-data --databases …`, or a YAML file of schema.table: CREATE"
    " TABLE …"
)
_FIELDS = ("columns", "primary_key", "unique", "charset")


@dataclass(frozen=True, slots=True)
class StartTable:
    """A table at the start of the log: the statement that declares it, and its effect."""

    statement: DumpedStatement
    effect: CreateTable | Unsupported


@dataclass(frozen=True, slots=True)
class TimelineStart:
    """The tables at the start, and the position (file, offset) of the dump, if recorded."""

    tables: Sequence[StartTable] = ()
    place: tuple[str, int] | None = None


def read_start(path: str) -> TimelineStart:
    """Read a definitions file, a local path or an fsspec URL. Raises SettingsError."""
    text = text_of(path)
    if path.lower().endswith((".yml", ".yaml")):
        return TimelineStart(tuple(_from_yaml(path, text)))
    tables = created_tables(dumped_statements(text))
    if not tables:
        raise _wrong(path, "has no CREATE TABLE")
    return TimelineStart(tuple(tables.values()), dumped_at(text))


def text_of(path: str) -> str:
    """Return a definitions file's text. Raises SettingsError."""
    try:
        with opened(path) as stream:
            text: str = stream.read().decode()
    except (OSError, ImportError, ValueError) as error:
        raise _wrong(
            path, f"cannot be read: {getattr(error, 'strerror', None) or error}"
        ) from error
    return text


def created_tables(statements: Iterable[DumpedStatement]) -> dict[TableName, StartTable]:
    """Return the tables that exist after all statements: dumps drop stand-ins of views again."""
    found: dict[TableName, StartTable] = {}
    for statement in statements:
        session = StatementContext(statement.schema, statement.sql_mode)
        for effect in effects(statement.query, session):
            if isinstance(effect, (CreateTable, Unsupported)):
                found[effect.name] = StartTable(statement, effect)
            elif isinstance(effect, DropTable):
                found.pop(effect.name, None)
            elif isinstance(effect, DropSchema):
                found = {n: table for n, table in found.items() if n.schema != effect.schema}
    return found


def _from_yaml(path: str, text: str) -> list[StartTable]:
    try:
        entries = yaml.safe_load(text)
    except (yaml.YAMLError, ValueError) as error:  # an invalid date raises ValueError
        raise _wrong(path, f"is not YAML: {error}") from error
    if not isinstance(entries, dict) or not entries:
        raise _wrong(path, "has no tables")
    return [_entry(path, str(name), entry) for name, entry in entries.items()]


def _entry(path: str, name: str, entry: Any) -> StartTable:
    schema, dot, table = name.partition(".")
    if not (schema and dot and table):
        raise _wrong(path, f"{name}: not schema.table")
    wanted = TableName(schema, table)
    query = entry if isinstance(entry, str) else _statement(path, wanted, entry)
    statement = DumpedStatement(query, schema)
    found = effects(query, StatementContext(schema))
    if len(found) != 1 or not isinstance(found[0], (CreateTable, Unsupported, Unreadable)):
        raise _wrong(path, f"{name}: not a single CREATE TABLE statement")
    effect = found[0]
    if not isinstance(effect, CreateTable):
        raise _wrong(path, f"{name}: {effect.reason}")
    if effect.name != wanted:
        raise _wrong(path, f"{name}: its statement creates {effect.name}")
    return StartTable(statement, effect)


def _statement(path: str, name: TableName, entry: Any) -> str:
    """Return the CREATE TABLE for a mapping."""
    if not isinstance(entry, Mapping) or not isinstance(entry.get("columns"), Mapping):
        raise _wrong(path, f"{name}: needs columns with their types, or a CREATE TABLE")
    if unknown := [key for key in entry if key not in _FIELDS]:
        fields = ", ".join(_FIELDS)
        raise _wrong(path, f"{name}: unknown field {unknown[0]}, expected one of {fields}")
    parts = [f"{quoted(str(column))} {kind}" for column, kind in entry["columns"].items()]
    if primary := entry.get("primary_key"):
        parts.append(f"PRIMARY KEY ({_columns(primary)})")
    parts += [f"UNIQUE KEY ({_columns(unique)})" for unique in entry.get("unique") or ()]
    charset = f" DEFAULT CHARSET={entry['charset']}" if entry.get("charset") else ""
    table = f"{quoted(name.schema)}.{quoted(name.table)}"
    return f"CREATE TABLE {table} ({', '.join(parts)}){charset}"


def _columns(names: Any) -> str:
    """Quote one column name or a list of them."""
    return ", ".join(quoted(str(name)) for name in ([names] if isinstance(names, str) else names))


def _wrong(path: str, reason: str) -> SettingsError:
    return SettingsError(f"{reason}.", key="definitions", file=path, remedy=_REMEDY)
