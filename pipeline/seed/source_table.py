"""A table of the source server that is to be seeded: its definition, and what to SELECT of it."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from decoder.definition import TableDefinition
from pipeline.catalog.ddl import Session, effects
from pipeline.catalog.effects import CreateTable, TableName
from pipeline.seed.errors import SeedError
from pipeline.seed.selection import select_expression
from pipeline.server.connection import BROKEN_OFF
from pipeline.server.version import ServerVersion, server_number
from pipeline.verify.snapshot_columns import SYSTEM_SCHEMAS, quoted

if TYPE_CHECKING:
    from pymysql.connections import Connection


_NEXT_NUMBER = re.compile(r" AUTO_INCREMENT=\d+")


class NotSeedableError(SeedError):
    """A table cannot be seeded, for a reason that is its own; others can."""

    def __init__(self, name: TableName, reason: str, remedy: str) -> None:
        super().__init__(f"{name}: {reason}.", remedy=remedy)
        self.name = name


@dataclass(frozen=True, slots=True)
class SourceTable:
    """A table as the server defines it now; `query` is its CREATE TABLE.

    `charsets`: by column, that of its text (`binary`: it is bytes). `transactional`: its engine
    takes part in a consistent snapshot. `row_bytes`: what a row takes on average, by its estimate.
    """

    name: TableName
    query: str
    definition: TableDefinition
    charsets: dict[str, str]
    transactional: bool = True
    row_bytes: int = 0

    @property
    def place(self) -> str:
        """The table in SQL."""
        return f"{quoted(self.name.schema)}.{quoted(self.name.table)}"

    def select(self, where: str = "") -> str:
        """What gives its rows, as cells (see `pipeline.seed.selection`) named c0, c1, …"""
        cells = (
            f"{select_expression(column)} AS c{n}"
            for n, column in enumerate(self.definition.columns)
        )
        return f"SELECT {', '.join(cells)} FROM {self.place}{f' WHERE {where}' if where else ''}"


@contextmanager
def asked_of(name: TableName) -> Iterator[None]:
    """What a server says against one table, which others need not suffer for.

    Raises NotSeedableError; a connection that breaks off is no table's.
    """
    import pymysql

    try:
        yield
    except pymysql.MySQLError as error:
        if not error.args or error.args[0] in BROKEN_OFF:
            raise
        raise NotSeedableError(
            name, f"the server says: {error.args[-1]}", "Look at the table, and run it again."
        ) from error


def table_names(
    connection: Connection[Any], wanted: Callable[[str, str], bool]
) -> Iterator[TableName]:
    """The server's tables that are wanted, but its own."""
    for schema, table in _rows(
        connection,
        "SELECT TABLE_SCHEMA, TABLE_NAME FROM information_schema.TABLES"
        " WHERE TABLE_TYPE IN ('BASE TABLE', 'SYSTEM VERSIONED') ORDER BY 1, 2",
    ):
        if schema not in SYSTEM_SCHEMAS and wanted(schema, table):
            yield TableName(schema, table)


def source_table(
    connection: Connection[Any], version: ServerVersion, name: TableName
) -> SourceTable:
    """Look a table up. Raises NotSeedableError."""
    query = create_table(connection, name)
    told = _rows(
        connection,
        "SELECT TRANSACTIONS, AVG_ROW_LENGTH FROM information_schema.TABLES"
        " LEFT JOIN information_schema.ENGINES USING (ENGINE)"
        " WHERE TABLE_SCHEMA = %s AND TABLE_NAME = %s",
        *_parts(name),
    )
    transactional, row_bytes = told[0] if told else ("", 0)
    charsets = _rows(
        connection,
        "SELECT COLUMN_NAME, CASE WHEN DATA_TYPE IN ('binary', 'varbinary') THEN 'binary'"
        " ELSE CHARACTER_SET_NAME END FROM information_schema.COLUMNS"
        " WHERE TABLE_SCHEMA = %s AND TABLE_NAME = %s",
        *_parts(name),
    )
    definition = definition_of(name, query, version.text)
    known = {column: charset for column, charset in charsets if charset}
    return SourceTable(
        name,
        query,
        definition,
        known,
        transactional == "YES",
        int(row_bytes or 0),
    )


def create_table(connection: Connection[Any], name: TableName) -> str:
    """The table's CREATE TABLE, as it is now, without the number that the next row gets."""
    place = f"{quoted(name.schema)}.{quoted(name.table)}"
    query = str(_rows(connection, f"SHOW CREATE TABLE {place}")[0][1])
    columns, end, options = query.rpartition("\n)")
    return f"{columns}{end}{_NEXT_NUMBER.sub('', options, count=1)}"


def definition_of(name: TableName, query: str, version: str, sql_mode: int = 0) -> TableDefinition:
    """What a CREATE TABLE declares. Raises NotSeedableError where it cannot be replicated."""
    number, mariadb = server_number(version)
    found = effects(query, Session(name.schema, sql_mode, number, mariadb=mariadb))
    effect = found[0] if len(found) == 1 else None
    if not isinstance(effect, CreateTable):
        reason = getattr(effect, "reason", "its CREATE TABLE cannot be read")
        raise NotSeedableError(name, reason, "Leave the table out with exclude.")
    return effect.definition


def _parts(name: TableName) -> tuple[str, str]:
    return name.schema, name.table


def _rows(connection: Connection[Any], query: str, *values: str) -> list[tuple[Any, ...]]:
    with connection.cursor() as cursor:
        # Without values a percent sign in a name is one.
        cursor.execute(query, values or None)
        return list(cursor.fetchall())
