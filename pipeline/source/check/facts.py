"""The facts that checks judge: the server's variables, its tables and the user's privileges."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime, timezone
from typing import TYPE_CHECKING, Any

from pipeline.source.check.granted_privileges import Privileges
from pipeline.source.server.connection import queried
from pipeline.source.server.version import ServerVersion, server_version

if TYPE_CHECKING:
    from pymysql.connections import Connection

NOT_ALLOWED = frozenset({1142, 1227, 3554})
"""Error codes of a missing privilege: on a table, global, on a system table."""

_TABLES = """
SELECT TABLE_SCHEMA, TABLE_NAME, ENGINE, TABLE_TYPE FROM information_schema.TABLES
WHERE TABLE_TYPE IN ('BASE TABLE', 'SYSTEM VERSIONED', 'SEQUENCE') ORDER BY 1, 2
"""
_UNIQUE_KEYS = """
SELECT TABLE_SCHEMA, TABLE_NAME, INDEX_NAME, COLUMN_NAME, NULLABLE, SUB_PART
FROM information_schema.STATISTICS WHERE NON_UNIQUE = 0
"""
_FOREIGN_KEYS = """
SELECT CONSTRAINT_SCHEMA, TABLE_NAME, UNIQUE_CONSTRAINT_SCHEMA, REFERENCED_TABLE_NAME,
       DELETE_RULE, UPDATE_RULE
FROM information_schema.REFERENTIAL_CONSTRAINTS ORDER BY 1, 2, CONSTRAINT_NAME
"""


@dataclass(frozen=True, slots=True)
class CheckedTable:
    """A table of the server; `kind` is information_schema's TABLE_TYPE.

    `keyed`: True if it has a PRIMARY KEY, or a UNIQUE key of whole NOT NULL columns.
    """

    schema: str
    table: str
    engine: str = "InnoDB"
    kind: str = "BASE TABLE"
    keyed: bool = True

    @property
    def name(self) -> str:
        """`schema.table`."""
        return f"{self.schema}.{self.table}"


@dataclass(frozen=True, slots=True)
class SourceForeignKey:
    """A foreign key from a child table to its parent, each as (schema, table)."""

    child: tuple[str, str]
    parent: tuple[str, str]
    on_delete: str = "NO ACTION"
    on_update: str = "NO ACTION"


@dataclass(frozen=True, slots=True)
class LogFilter:
    """The server's log filter: schemas that are logged (`do`; empty: all), and those that are not.

    See `binlog_do_db` and `binlog_ignore_db`.
    """

    do: frozenset[str] = frozenset()
    ignore: frozenset[str] = frozenset()

    def leaves_out(self, schema: str) -> bool:
        """Return True if changes in this schema are not logged."""
        return schema in self.ignore or (bool(self.do) and schema not in self.do)


@dataclass(frozen=True, slots=True)
class ServerFacts:
    """The input of all checks.

    `variables` are the global ones, by lower-case name; `user` is CURRENT_USER(), `name@host`;
    `utc_offset` is the offset of the server's SYSTEM time zone in seconds at the time `at`;
    `log_filter` is None if the user may not see it, or nothing is logged. Tables and foreign keys
    are those visible to the user.
    """

    version: ServerVersion
    variables: Mapping[str, str]
    user: str
    privileges: Privileges
    at: datetime
    utc_offset: int = 0
    log_filter: LogFilter | None = None
    tables: tuple[CheckedTable, ...] = field(default=())
    foreign_keys: tuple[SourceForeignKey, ...] = field(default=())

    def is_on(self, variable: str) -> bool:
        """Return True if the variable exists and is ON."""
        return self.variables.get(variable, "").upper() in {"ON", "1"}


def read_facts(connection: Connection[Any]) -> ServerFacts:
    """Query all facts; only variables of this session are changed."""
    # Without ANSI_QUOTES in sql_mode, SHOW GRANTS quotes names with backticks.
    queried(connection, "SET SESSION sql_mode = '', time_zone = 'SYSTEM'")
    version = server_version(connection)
    ((user, offset),) = queried(
        connection, "SELECT CURRENT_USER(), TIMESTAMPDIFF(SECOND, UTC_TIMESTAMP(), NOW())"
    )
    grants = queried(connection, "SHOW GRANTS")
    variables = {
        name.lower(): value for name, value in queried(connection, "SHOW GLOBAL VARIABLES")
    }
    wildcards = variables.get("partial_revokes", "OFF").upper() != "ON"
    return ServerFacts(
        version=version,
        variables=variables,
        user=user,
        privileges=Privileges.read((line for (line,) in grants), wildcards=wildcards),
        at=datetime.now(timezone.utc),
        utc_offset=int(offset),
        log_filter=_log_filter(connection, version),
        tables=tuple(_tables(connection)),
        foreign_keys=tuple(_foreign_keys(connection)),
    )


def _log_filter(connection: Connection[Any], version: ServerVersion) -> LogFilter | None:
    """Query Binlog_Do_DB and Binlog_Ignore_DB (columns 3 and 4); no variable holds them."""
    import pymysql

    try:
        rows = queried(connection, version.log_status_statement)
    except pymysql.MySQLError as error:
        if error.args[0] in NOT_ALLOWED:
            return None
        raise
    return LogFilter(*map(_schemas, rows[0][2:4])) if rows else None


def _schemas(text: str | None) -> frozenset[str]:
    return frozenset(filter(None, (text or "").split(",")))


def _tables(connection: Connection[Any]) -> Iterator[CheckedTable]:
    keyed = set(_keyed(queried(connection, _UNIQUE_KEYS)))
    for schema, table, engine, kind in queried(connection, _TABLES):
        yield CheckedTable(schema, table, engine or "", kind, (schema, table) in keyed)


def _keyed(parts: Iterable[tuple[Any, ...]]) -> Iterator[tuple[str, str]]:
    """Yield tables with a unique key of columns without expressions, prefixes and NULLs."""
    whole: dict[tuple[str, str, str], bool] = defaultdict(lambda: True)
    for schema, table, index, column, nullable, prefix in parts:
        whole[schema, table, index] &= column is not None and nullable != "YES" and prefix is None
    yield from ((schema, table) for (schema, table, _), good in whole.items() if good)


def _foreign_keys(connection: Connection[Any]) -> Iterator[SourceForeignKey]:
    for schema, child, parent_schema, parent, *rules in queried(connection, _FOREIGN_KEYS):
        yield SourceForeignKey((schema, child), (parent_schema, parent), *rules)
