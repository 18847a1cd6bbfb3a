"""Distinguish columns from other table elements in CREATE TABLE and in ALTER TABLE's ADD and DROP.

Sources: `table_element` of MySQL's `sql/sql_yacc.yy`; `field_list_item`, `key_def`,
`constraint_def` and `alter_list_item` of MariaDB's.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from decoder.model import ColumnDefinition
from pipeline.schema_history.ddl.cursor import TokenCursor
from pipeline.schema_history.ddl.keys import Key
from pipeline.schema_history.ddl.lexer import Kind, Token

_RESERVED = (
    *("INDEX", "KEY", "UNIQUE", "FULLTEXT", "SPATIAL", "CONSTRAINT", "FOREIGN", "CHECK"),
    *("PARTITION", "PRIMARY"),
)
"""Words that are a column's name only if quoted."""
_NAMES = (Kind.WORD, Kind.NAME)


def is_column(element: Sequence[Token]) -> bool:
    """Return True if a table element, or the rest of an ADD or DROP, begins with a column name."""
    cursor = TokenCursor(element)
    if cursor.peek().is_word(*_RESERVED) or _is_vector_index(cursor):
        return False
    return not (_accept_period(cursor) or cursor.accept("SYSTEM", "VERSIONING"))


def _is_vector_index(cursor: TokenCursor) -> bool:
    """Return True at MariaDB's VECTOR [INDEX | KEY] [IF NOT EXISTS] [name] (column).

    VECTOR is reserved in MariaDB; in MySQL it can be a column's name, followed by a type.
    """
    if not cursor.peek().is_word("VECTOR"):
        return False
    if cursor.peek(1).is_word("INDEX", "KEY"):
        return True
    ahead = 1 if cursor.peek(1).is_sign("(") else 2
    # In a type, parentheses hold a length or labels.
    return cursor.peek(ahead).is_sign("(") and cursor.peek(ahead + 1).kind in _NAMES


def _accept_period(cursor: TokenCursor) -> bool:
    """Skip PERIOD [IF [NOT] EXISTS] FOR; return True if it was there."""
    forms = ("FOR", "IF EXISTS FOR", "IF NOT EXISTS FOR")
    return any(cursor.accept("PERIOD", *form.split()) for form in forms)


_SYSTEM_TIME = "SYSTEM_TIME"


@dataclass(frozen=True, slots=True)
class Period:
    """MariaDB's PERIOD FOR name (`start`, `end`), which makes both columns NOT NULL.

    An application-time period adds no columns; a SYSTEM_TIME period (`is_system`) has hidden
    columns unless it names its own.
    """

    name: str
    start: str = ""
    end: str = ""

    @property
    def is_system(self) -> bool:
        """True if this is the period of system versioning."""
        return self.name.upper() == _SYSTEM_TIME

    def not_null(self, columns: Iterable[ColumnDefinition]) -> list[ColumnDefinition]:
        """Return the columns with those of the period NOT NULL."""
        own = {self.start.casefold(), self.end.casefold()}
        return [
            replace(column, nullable=column.nullable and column.name.casefold() not in own)
            for column in columns
        ]

    def in_key(self, key: Key) -> Key:
        """Return a key WITHOUT OVERLAPS with the period replaced by its columns, as stored."""
        parts: list[tuple[str, int]] = []
        for column, prefix in zip(key.columns, key.prefixes, strict=True):
            same = column.casefold() == self.name.casefold()  # no column may have the period's name
            parts += [(self.end, 0), (self.start, 0)] if same else [(column, prefix)]
        columns, prefixes = zip(*parts, strict=True)
        return replace(key, columns=columns, prefixes=prefixes)


def read_period(element: Sequence[Token]) -> Period | None:
    """Return the period that an element declares or ALTER TABLE drops; None for other elements.

    Raises `ReadError`.
    """
    cursor = TokenCursor(element)
    if not _accept_period(cursor):
        return None
    name = cursor.name()
    if cursor.done:
        return Period(name)
    columns = TokenCursor(cursor.group())
    start = columns.name()
    columns.accept_sign(",")
    return Period(name, start, columns.name())
