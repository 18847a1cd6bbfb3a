"""Read the source's tables from information_schema: their SELECT expressions and kinds of values.

Uses only the standard library and a DB-API cursor.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

from pipeline.verify.canonical import (
    BINARY,
    DATE,
    DATETIME,
    DECIMAL,
    DOUBLE,
    INTEGER,
    JSON,
    TEXT,
    TIME,
)

SYSTEM_SCHEMAS = ("mysql", "sys", "performance_schema", "information_schema")

_KINDS = {
    **dict.fromkeys(("tinyint", "smallint", "mediumint", "int", "bigint", "year", "bit"), INTEGER),
    "decimal": DECIMAL,
    **dict.fromkeys(("float", "double"), DOUBLE),
    **dict.fromkeys(("char", "varchar", "enum", "set"), TEXT),
    **dict.fromkeys(("tinytext", "text", "mediumtext", "longtext"), TEXT),
    **dict.fromkeys(("binary", "varbinary", "vector", "inet4", "inet6", "uuid"), BINARY),
    **dict.fromkeys(("tinyblob", "blob", "mediumblob", "longblob"), BINARY),
    **dict.fromkeys(("geometry", "point", "linestring", "polygon"), BINARY),
    **dict.fromkeys(("multipoint", "multilinestring", "multipolygon"), BINARY),
    **dict.fromkeys(("geometrycollection", "geomcollection"), BINARY),
    "date": DATE,
    **dict.fromkeys(("datetime", "timestamp"), DATETIME),
    "time": TIME,
    "json": JSON,
}
"""Kinds by MySQL's and MariaDB's names of types."""
_EXPRESSIONS = {
    # As a number: drivers have their own types for BIT, and ZEROFILL pads.
    **dict.fromkeys(("bit", "year"), "{0} + 0"),
    # With all digits: a FLOAT prints only six.
    **dict.fromkeys(("float", "double"), "{0} * 1e0"),
    # As text: drivers do not support zero dates, or a TIME of more than a day.
    **dict.fromkeys(("date", "datetime", "timestamp", "time"), "CAST({0} AS CHAR)"),
    # As they are logged.
    **dict.fromkeys(("inet6", "uuid"), "CAST({0} AS BINARY(16))"),
    "inet4": "CAST({0} AS BINARY(4))",
}
"""The expressions of types that are not selected as the column itself."""


class UnknownTypeError(Exception):
    """A column has an unsupported type."""


class SourceColumn(NamedTuple):
    """A column: its kind (see `canonical`) and the SQL expression of its value."""

    name: str
    kind: str
    expression: str


class SnapshotTable(NamedTuple):
    """A table: its columns in order, the names of its key columns (none if keyless), and whether
    its engine supports consistent snapshots."""

    schema: str
    table: str
    columns: tuple[SourceColumn, ...]
    key: tuple[str, ...]
    transactional: bool


def quoted(name: str) -> str:
    """Return a name as a quoted SQL identifier."""
    return "`" + name.replace("`", "``") + "`"


def source_tables(
    cursor: Any, wanted: Callable[[str, str], bool] | None = None
) -> Iterator[SnapshotTable]:
    """Yield the tables in order of names, except system tables; `wanted` filters by schema and
    name. Raises UnknownTypeError."""
    cursor.execute("SELECT ENGINE FROM information_schema.ENGINES WHERE TRANSACTIONS = 'YES'")
    transactional = {as_text(row[0]) for row in cursor.fetchall()}
    cursor.execute(
        "SELECT TABLE_SCHEMA, TABLE_NAME, ENGINE FROM information_schema.TABLES"
        " WHERE TABLE_TYPE IN ('BASE TABLE', 'SYSTEM VERSIONED') ORDER BY 1, 2"
    )
    tables = [tuple(map(as_text, row)) for row in cursor.fetchall()]
    for schema, table, engine in tables:
        if schema not in SYSTEM_SCHEMAS and (wanted is None or wanted(schema, table)):
            columns, key = tuple(_columns(cursor, schema, table)), _key(cursor, schema, table)
            yield SnapshotTable(schema, table, columns, key, engine in transactional)


def estimated_rows(cursor: Any, table: SnapshotTable) -> int:
    """Return the server's estimate of a table's rows. This opens the table, and waits if it is
    locked."""
    cursor.execute(
        "SELECT COALESCE(TABLE_ROWS, 0) FROM information_schema.TABLES"
        f" WHERE {_of_table(table.schema, table.table)}"
    )
    rows = cursor.fetchall()
    return int(rows[0][0]) if rows else 0


def as_text(value: Any) -> str:
    """Return text that a driver may return as bytes."""
    return value.decode() if isinstance(value, bytes) else str(value)


def _columns(cursor: Any, schema: str, table: str) -> Iterator[SourceColumn]:
    """Yield a table's columns, also generated and invisible ones."""
    cursor.execute(
        "SELECT COLUMN_NAME, DATA_TYPE FROM information_schema.COLUMNS"
        f" WHERE {_of_table(schema, table)} ORDER BY ORDINAL_POSITION"
    )
    for row in cursor.fetchall():
        name, kind = map(as_text, row)
        kind = kind.lower()
        if kind not in _KINDS:
            raise UnknownTypeError(
                f"{schema}.{table}: column {name} has the unsupported type {kind}."
            )
        yield SourceColumn(name, _KINDS[kind], _EXPRESSIONS.get(kind, "{0}").format(quoted(name)))


def _key(cursor: Any, schema: str, table: str) -> tuple[str, ...]:
    """Return the columns of the PRIMARY KEY, or else of the first NOT NULL UNIQUE key."""
    cursor.execute(
        "SELECT INDEX_NAME, COLUMN_NAME, NULLABLE, SUB_PART FROM information_schema.STATISTICS"
        f" WHERE {_of_table(schema, table)} AND NON_UNIQUE = 0"
        " ORDER BY INDEX_NAME <> 'PRIMARY', INDEX_NAME, SEQ_IN_INDEX"
    )
    keys: dict[str, list[tuple[Any, ...]]] = {}
    for index, *parts in cursor.fetchall():
        keys.setdefault(as_text(index), []).append(tuple(parts))
    for parts in keys.values():
        # Functional key parts have no column; prefixes of columns do not identify rows.
        if all(n is not None and as_text(null) != "YES" and sub is None for n, null, sub in parts):
            return tuple(as_text(name) for name, _, _ in parts)
    return ()


def _of_table(schema: str, table: str) -> str:
    return f"TABLE_SCHEMA = {_literal(schema)} AND TABLE_NAME = {_literal(table)}"


def _literal(text: str) -> str:
    """Return an SQL literal without escapes, which depend on sql_mode."""
    return f"CONVERT(x'{text.encode().hex()}' USING utf8mb4)"
