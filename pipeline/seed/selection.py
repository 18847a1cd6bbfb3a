"""What to SELECT of a column so that the server gives its cells (see `pipeline.seed.values`).

Each expression's result is binary, so that no client decodes, pads or shortens it. The session's
time zone is UTC. Long values pass through CONVERT alone: CAST and CONCAT make one NULL that is
longer than `max_allowed_packet`, where a row too long for it is an error. (Of such a document MySQL
prints nothing, which is no JSON.)
"""

from __future__ import annotations

from collections.abc import Callable

from decoder.constants import BINARY_COLLATION, ColumnType as T
from decoder.model.definition import ColumnDefinition

VARIABLES = "time_zone = '+00:00', sql_mode = ''"
SESSION = f"SET {VARIABLES}"
"""The statement that a session begins with which selects such expressions."""


def _printed(name: str, _column: ColumnDefinition) -> str:
    return f"CAST({name} AS BINARY)"


def _float(name: str, _column: ColumnDefinition) -> str:
    """As a double, of which enough digits are kept: a FLOAT by itself prints six of them."""
    return f"CONCAT({name} * 1e0, _binary '')"


def _double(name: str, _column: ColumnDefinition) -> str:
    """With all digits, of which CAST and an expression's result would lose some."""
    return f"CONCAT({name}, _binary '')"


def _converted(name: str, _column: ColumnDefinition) -> str:
    return f"CONVERT(CONVERT({name} USING utf8mb4) USING binary)"


def _text(name: str, column: ColumnDefinition) -> str:
    if column.collation != BINARY_COLLATION:
        return _converted(name, column)
    if column.type == T.STRING:
        # INET4, INET6 and UUID of MariaDB are BINARY in a log, but print as text.
        return f"CAST({name} AS BINARY({column.length}))"
    return name


def _bits(name: str, column: ColumnDefinition) -> str:
    """In hex, since a number or a driver's own type for bits would not be bytes."""
    size = (column.length + 7) // 8
    return f"UNHEX(LPAD(HEX({name} + 0), {2 * size}, '0'))"


_EXPRESSIONS: dict[T, Callable[[str, ColumnDefinition], str]] = {
    T.FLOAT: _float,
    T.DOUBLE: _double,
    T.BIT: _bits,
    **dict.fromkeys((T.STRING, T.VAR_STRING, T.VARCHAR, T.ENUM, T.SET), _text),
    **dict.fromkeys((T.TINY_BLOB, T.BLOB, T.MEDIUM_BLOB, T.LONG_BLOB), _text),
    **dict.fromkeys((T.VARCHAR_COMPRESSED, T.BLOB_COMPRESSED), _text),
    T.JSON: _converted,
    T.GEOMETRY: lambda name, _: f"CONVERT({name} USING binary)",
}
"""What is selected of a type, where it is not its text."""


def select_expression(column: ColumnDefinition) -> str:
    """The SQL expression of a column's cell, of binary type; one of a NULL is NULL."""
    name = "`" + column.name.replace("`", "``") + "`"
    return _EXPRESSIONS.get(column.type, _printed)(name, column)
