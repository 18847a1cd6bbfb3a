"""A table of the source server that is to be seeded: its definition, and what to SELECT of it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from decoder import TableDefinition
from pipeline.catalog import TableName
from pipeline.catalog.ddl.ddl import Session, effects
from pipeline.catalog.ddl.effects import CreateTable
from pipeline.lake.sql_text import quoted
from pipeline.seed.errors import SeedError
from pipeline.seed.selection import select_expression
from pipeline.source.server.connection import BROKEN_OFF
from pipeline.source.server.create_statements import create_statement
from pipeline.source.server.version import ServerVersion, server_number

if TYPE_CHECKING:
    from pymysql.connections import Connection


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


def source_table(
    connection: Connection[Any], version: ServerVersion, name: TableName
) -> SourceTable:
    """Look a table up. Raises NotSeedableError."""
    query = create_statement(connection, name.schema, name.table)
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
