"""SELECT expressions whose results are a column's cells (see `pipeline.seed.values`).

The results are binary, so that no client decodes, pads or truncates them. The session's time zone
is UTC. Long values are only CONVERTed: CAST and CONCAT turn a value longer than
`max_allowed_packet` into NULL, whereas a row that is too long is an error. (MySQL prints such a
JSON document as an empty string, which is not valid JSON.)
"""

from __future__ import annotations

from collections.abc import Callable

from decoder.constants import BINARY_COLLATION, ColumnType as T
from decoder.model.definition import ColumnDefinition

VARIABLES = "time_zone = '+00:00', sql_mode = ''"
SESSION = f"SET {VARIABLES}"
"""The first statement of a session that selects these expressions."""


def _printed(name: str, _column: ColumnDefinition) -> str:
    return f"CAST({name} AS BINARY)"


def _float(name: str, _column: ColumnDefinition) -> str:
    """Select it as a double, which prints enough digits: a FLOAT prints only six."""
    return f"CONCAT({name} * 1e0, _binary '')"


def _double(name: str, _column: ColumnDefinition) -> str:
    """Select all digits: CAST, or the result of an expression, would lose some."""
    return f"CONCAT({name}, _binary '')"


def _converted(name: str, _column: ColumnDefinition) -> str:
    return f"CONVERT(CONVERT({name} USING utf8mb4) USING binary)"


def _text(name: str, column: ColumnDefinition) -> str:
    if column.collation != BINARY_COLLATION:
        return _converted(name, column)
    if column.type == T.STRING:
        # MariaDB logs INET4, INET6 and UUID as BINARY, but prints them as text.
        return f"CAST({name} AS BINARY({column.length}))"
    return name


def _bits(name: str, column: ColumnDefinition) -> str:
    """Select the bits as bytes: a server prints a number, or a driver returns its own type."""
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
"""The expression for each type that is not selected as its text."""


def select_expression(column: ColumnDefinition) -> str:
    """Return the SQL expression of a column's cell: binary, and NULL for NULL."""
    name = "`" + column.name.replace("`", "``") + "`"
    return _EXPRESSIONS.get(column.type, _printed)(name, column)
