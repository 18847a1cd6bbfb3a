"""Queries of the facts that are checked: variables, tables, foreign keys, grants."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator
from datetime import datetime, timezone
from typing import TYPE_CHECKING, Any

from pipeline.source.check.facts import LogFilter, ServerFacts, SourceForeignKey, SourceTable
from pipeline.source.check.privileges import Privileges
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


def read_facts(connection: Connection[Any]) -> ServerFacts:
    """Query all facts; only variables of this session are changed."""
    # Without ANSI_QUOTES in sql_mode, SHOW GRANTS quotes names with backticks.
    _rows(connection, "SET SESSION sql_mode = '', time_zone = 'SYSTEM'")
    version = server_version(connection)
    ((user, offset),) = _rows(
        connection, "SELECT CURRENT_USER(), TIMESTAMPDIFF(SECOND, UTC_TIMESTAMP(), NOW())"
    )
    grants = _rows(connection, "SHOW GRANTS")
    variables = {name.lower(): value for name, value in _rows(connection, "SHOW GLOBAL VARIABLES")}
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


def _rows(connection: Connection[Any], statement: str) -> tuple[tuple[Any, ...], ...]:
    with connection.cursor() as cursor:
        cursor.execute(statement)
        return tuple(cursor.fetchall())


def _log_filter(connection: Connection[Any], version: ServerVersion) -> LogFilter | None:
    """Query Binlog_Do_DB and Binlog_Ignore_DB (columns 3 and 4); no variable holds them."""
    import pymysql

    try:
        rows = _rows(connection, version.log_status_statement)
    except pymysql.MySQLError as error:
        if error.args[0] in NOT_ALLOWED:
            return None
        raise
    return LogFilter(*map(_schemas, rows[0][2:4])) if rows else None


def _schemas(text: str | None) -> frozenset[str]:
    return frozenset(filter(None, (text or "").split(",")))


def _tables(connection: Connection[Any]) -> Iterator[SourceTable]:
    keyed = set(_keyed(_rows(connection, _UNIQUE_KEYS)))
    for schema, table, engine, kind in _rows(connection, _TABLES):
        yield SourceTable(schema, table, engine or "", kind, (schema, table) in keyed)


def _keyed(parts: Iterable[tuple[Any, ...]]) -> Iterator[tuple[str, str]]:
    """Yield tables with a unique key of columns without expressions, prefixes and NULLs."""
    whole: dict[tuple[str, str, str], bool] = defaultdict(lambda: True)
    for schema, table, index, column, nullable, prefix in parts:
        whole[schema, table, index] &= column is not None and nullable != "YES" and prefix is None
    yield from ((schema, table) for (schema, table, _), good in whole.items() if good)


def _foreign_keys(connection: Connection[Any]) -> Iterator[SourceForeignKey]:
    for schema, child, parent_schema, parent, *rules in _rows(connection, _FOREIGN_KEYS):
        yield SourceForeignKey((schema, child), (parent_schema, parent), *rules)
