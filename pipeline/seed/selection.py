"""SELECT expressions whose results are a column's cells (see `pipeline.seed.values`).

The results are binary, so that no client decodes, pads or truncates them. The session's time zone
is UTC. Long values are only CONVERTed: CAST and CONCAT turn a value longer than
`max_allowed_packet` into NULL, whereas a row that is too long is an error. (MySQL prints such a
JSON document as an empty string, which is not valid JSON.)
"""

from __future__ import annotations

from decoder.constants import BINARY_COLLATION, ColumnType as T
from decoder.model import ColumnDefinition
from pipeline.lake.sql_text import quoted

VARIABLES = "time_zone = '+00:00', sql_mode = ''"
SESSION = f"SET {VARIABLES}"
"""The first statement of a session that selects these expressions."""
_STRINGS = (T.STRING, T.VAR_STRING, T.VARCHAR, T.VARCHAR_COMPRESSED)
_BLOBS = (T.TINY_BLOB, T.BLOB, T.MEDIUM_BLOB, T.LONG_BLOB, T.BLOB_COMPRESSED)
_TEXT = frozenset((*_STRINGS, *_BLOBS, T.ENUM, T.SET))


def select_expression(column: ColumnDefinition) -> str:
    """Return the SQL expression of a column's cell: binary, and NULL for NULL."""
    name = quoted(column.name)
    is_text = column.type in _TEXT
    if column.type == T.JSON or (is_text and column.collation != BINARY_COLLATION):
        return f"CONVERT(CONVERT({name} USING utf8mb4) USING binary)"
    if column.type == T.STRING:
        # MariaDB logs INET4, INET6 and UUID as BINARY, but prints them as text.
        return f"CAST({name} AS BINARY({column.length}))"
    if is_text:
        return name
    match column.type:
        case T.FLOAT:
            # As a double, which prints enough digits: a FLOAT prints only six.
            return f"CONCAT({name} * 1e0, _binary '')"
        case T.DOUBLE:
            # All digits: CAST, or the result of an expression, would lose some.
            return f"CONCAT({name}, _binary '')"
        case T.BIT:
            # As bytes: a server prints a number, or a driver returns its own type.
            size = (column.length + 7) // 8
            return f"UNHEX(LPAD(HEX({name} + 0), {2 * size}, '0'))"
        case T.GEOMETRY:
            return f"CONVERT({name} USING binary)"
    return f"CAST({name} AS BINARY)"
