"""A table of the source server that is to be seeded: its definition and its SELECT."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from decoder import TableDefinition
from pipeline.lake.sql_text import quoted
from pipeline.schema_history import TableName
from pipeline.schema_history.ddl.ddl import StatementContext, effects
from pipeline.schema_history.ddl.effects import CreateTable
from pipeline.seed.errors import SeedError
from pipeline.seed.selection import select_expression
from pipeline.source.server.connection import LOST_CONNECTION_CODES, queried
from pipeline.source.server.create_statements import create_statement
from pipeline.source.server.version import ServerVersion, server_number

if TYPE_CHECKING:
    from pymysql.connections import Connection


class NotSeedableError(SeedError):
    """A single table cannot be seeded; others can."""

    def __init__(self, name: TableName, reason: str, remedy: str = "Seed it again.") -> None:
        super().__init__(f"{name}: {reason}.", remedy=remedy)
        self.name = name


@dataclass(frozen=True, slots=True)
class SourceTable:
    """A table as the server defines it now; `query` is its CREATE TABLE.

    `charsets`: the charset of each text column (`binary` for bytes). `transactional`: its engine
    supports consistent snapshots. `row_bytes`: the server's estimate of the average row length.
    """

    name: TableName
    query: str
    definition: TableDefinition
    charsets: dict[str, str]
    transactional: bool = True
    row_bytes: int = 0

    @property
    def place(self) -> str:
        """The qualified, quoted name in SQL."""
        return f"{quoted(self.name.schema)}.{quoted(self.name.table)}"

    def select(self, where: str = "") -> str:
        """Return the SELECT of its rows as cells (see `pipeline.seed.selection`) c0, c1, …"""
        cells = (
            f"{select_expression(column)} AS c{n}"
            for n, column in enumerate(self.definition.columns)
        )
        return f"SELECT {', '.join(cells)} FROM {self.place}{f' WHERE {where}' if where else ''}"


@contextmanager
def table_errors(name: TableName) -> Iterator[None]:
    """Turn the server's errors about a table into NotSeedableError, except a lost connection."""
    import pymysql

    try:
        yield
    except pymysql.MySQLError as error:
        if not error.args or error.args[0] in LOST_CONNECTION_CODES:
            raise
        raise NotSeedableError(
            name,
            f"the server refused to read it: {error.args[-1]}",
            "Check the table on the server, and seed it again.",
        ) from error


def source_table(
    connection: Connection[Any], version: ServerVersion, name: TableName
) -> SourceTable:
    """Read a table's definition from the server. Raises NotSeedableError."""
    query = create_statement(connection, name.schema, name.table)
    found = queried(
        connection,
        "SELECT TRANSACTIONS, AVG_ROW_LENGTH FROM information_schema.TABLES"
        " LEFT JOIN information_schema.ENGINES USING (ENGINE)"
        " WHERE TABLE_SCHEMA = %s AND TABLE_NAME = %s",
        name.schema,
        name.table,
    )
    transactional, row_bytes = found[0] if found else ("", 0)
    charsets = queried(
        connection,
        "SELECT COLUMN_NAME, CASE WHEN DATA_TYPE IN ('binary', 'varbinary') THEN 'binary'"
        " ELSE CHARACTER_SET_NAME END FROM information_schema.COLUMNS"
        " WHERE TABLE_SCHEMA = %s AND TABLE_NAME = %s",
        name.schema,
        name.table,
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
    """Return what a CREATE TABLE defines. Raises NotSeedableError if it cannot be replicated."""
    number, mariadb = server_number(version)
    found = effects(query, StatementContext(name.schema, sql_mode, number, mariadb=mariadb))
    effect = found[0] if len(found) == 1 else None
    if not isinstance(effect, CreateTable):
        reason = getattr(effect, "reason", "its CREATE TABLE cannot be parsed")
        raise NotSeedableError(name, reason, "Exclude the table with the exclude setting.")
    return effect.definition
