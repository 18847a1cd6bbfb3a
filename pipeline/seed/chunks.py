"""Split a table into chunks: ranges of its key's first column with about equally many rows.

The ranges cover every value: the first has no lower bound and the last no upper bound, so every row
is in one of them, whatever is inserted meanwhile. The rows of one value are always in one chunk,
even if they are more than a chunk's.
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
    """How to select a key value, and how to write the result as an SQL literal."""

    selected: str
    literal: Callable[[str, str], str]


def _number(value: str, _charset: str) -> str:
    return value


def _quoted_text(value: str, _charset: str) -> str:
    return f"'{value}'"


def _characters(value: str, charset: str) -> str:
    """Write a literal in the column's own charset, without which MySQL would not use the index."""
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
"""Key types that are split into ranges; a table with another one is a single chunk."""


def chunks(connection: Connection[Any], table: SourceTable, rows: int) -> list[str]:
    """Return a WHERE condition for each chunk of about `rows` rows; `[""]` for a single chunk."""
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
        return None  # MariaDB logs INET6 and UUID as BINARY, but compares them with text
    return _FORMS.get(column.type)


def _bounds(
    connection: Connection[Any],
    table: SourceTable,
    column: ColumnDefinition,
    form: _Form,
    rows: int,
) -> Iterator[str]:
    """Yield literals of key values that are `rows` rows apart, in ascending order."""
    name, after = quoted(column.name), ""
    charset = table.charsets.get(column.name, "")
    while True:
        query = (
            f"SELECT {form.selected.format(name)} FROM {table.place}{after}"
            f" ORDER BY {name} LIMIT 1 OFFSET {rows}"
        )
        with connection.cursor() as cursor:
            cursor.execute(query)
            found = cursor.fetchone()
        if found is None:
            return
        bound = form.literal(str(found[0]), charset)
        yield bound
        after = f" WHERE {name} > {bound}"
