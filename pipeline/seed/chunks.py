"""Cutting a table into chunks: ranges of its key's first column, of about as many rows each.

Together the ranges are everything: the first begins before all values and the last has no end, so
no row is in none of them, whatever is inserted meanwhile. Where one value has more rows than a
chunk, they are one chunk.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from decoder.constants import ColumnType as T
from decoder.model.definition import ColumnDefinition
from pipeline.seed.source_table import SourceTable
from pipeline.verify.snapshot_columns import quoted

if TYPE_CHECKING:
    from pymysql.connections import Connection


@dataclass(frozen=True, slots=True)
class _Form:
    """How a value of the key is asked for, and how what comes is written in SQL."""

    asked: str
    written: Callable[[str, str], str]


def _number(value: str, _charset: str) -> str:
    return value


def _quoted_text(value: str, _charset: str) -> str:
    return f"'{value}'"


def _characters(value: str, charset: str) -> str:
    """In the column's own charset, or no index would be used."""
    return f"_{charset} x'{value}'"


_PLAIN = _Form("{0}", _number)
_TEMPORAL = _Form("CAST({0} AS CHAR)", _quoted_text)
_HEX = _Form("HEX({0})", _characters)
_CHARACTERS = (T.STRING, T.VAR_STRING, T.VARCHAR)

_FORMS: Mapping[T, _Form] = MappingProxyType(
    {
        **dict.fromkeys((T.TINY, T.SHORT, T.INT24, T.LONG, T.LONGLONG, T.NEWDECIMAL), _PLAIN),
        **dict.fromkeys((T.DATE, T.NEWDATE, T.DATETIME, T.DATETIME2), _TEMPORAL),
        **dict.fromkeys((T.TIMESTAMP, T.TIMESTAMP2), _TEMPORAL),
        **dict.fromkeys(_CHARACTERS, _HEX),
    }
)
"""Of keys of other types no ranges are made: their table is one chunk."""


def chunks(connection: Connection[Any], table: SourceTable, rows: int) -> list[str]:
    """Conditions that part the table's rows, each true of about as many; empty: of all."""
    if not table.definition.primary_key:
        return [""]
    column = table.definition.columns[table.definition.primary_key[0]]
    form = _form(column, table.charsets)
    if form is None:
        return [""]
    bounds = list(_bounds(connection, table, column, form, rows))
    name = quoted(column.name)
    lower = ["", *(f"{name} >= {bound}" for bound in bounds)]
    upper = [*(f"{name} < {bound}" for bound in bounds), ""]
    return [" AND ".join(filter(None, both)) for both in zip(lower, upper, strict=True)]


def _form(column: ColumnDefinition, charsets: Mapping[str, str]) -> _Form | None:
    if column.type in _CHARACTERS and column.name not in charsets:
        return None  # INET6 and UUID of MariaDB are BINARY in a log, and compare with text
    return _FORMS.get(column.type)


def _bounds(
    connection: Connection[Any],
    table: SourceTable,
    column: ColumnDefinition,
    form: _Form,
    rows: int,
) -> Iterator[str]:
    """Values that are so many rows apart, each greater than the one before."""
    name, behind = quoted(column.name), ""
    charset = table.charsets.get(column.name, "")
    while True:
        query = (
            f"SELECT {form.asked.format(name)} FROM {table.place}{behind}"
            f" ORDER BY {name} LIMIT 1 OFFSET {rows}"
        )
        with connection.cursor() as cursor:
            cursor.execute(query)
            found = cursor.fetchone()
        if found is None:
            return
        bound = form.written(str(found[0]), charset)
        yield bound
        behind = f" WHERE {name} > {bound}"
