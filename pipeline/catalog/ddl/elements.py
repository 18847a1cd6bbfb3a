"""Which elements of a table are no columns, in CREATE TABLE and in what ALTER TABLE adds or drops.

Sources: `table_element` of MySQL's `sql/sql_yacc.yy`; `field_list_item`, `key_def`,
`constraint_def` and `alter_list_item` of MariaDB's.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from decoder.model.definition import ColumnDefinition
from pipeline.catalog.ddl.cursor import Cursor
from pipeline.catalog.ddl.keys import Key
from pipeline.catalog.ddl.lexer import Kind, Token

_RESERVED = (
    *("INDEX", "KEY", "UNIQUE", "FULLTEXT", "SPATIAL", "CONSTRAINT", "FOREIGN", "CHECK"),
    *("PARTITION", "PRIMARY"),
)
"""Words that no column has as its name, unless it is quoted."""
_NAMES = (Kind.WORD, Kind.NAME)


def is_column(element: Sequence[Token]) -> bool:
    """Whether the element, or what is left of it behind ADD or DROP, names a column first."""
    cursor = Cursor(element)
    if cursor.peek().is_word(*_RESERVED) or _is_vector_index(cursor):
        return False
    return not (_period_follows(cursor) or cursor.accept("SYSTEM", "VERSIONING"))


def _is_vector_index(cursor: Cursor) -> bool:
    """MariaDB's VECTOR [INDEX | KEY] [IF NOT EXISTS] [name] (column).

    The word is reserved there, and to MySQL a name like others, which a type follows.
    """
    if not cursor.peek().is_word("VECTOR"):
        return False
    if cursor.peek(1).is_word("INDEX", "KEY"):
        return True
    ahead = 1 if cursor.peek(1).is_sign("(") else 2
    # A type has a length there, or labels.
    return cursor.peek(ahead).is_sign("(") and cursor.peek(ahead + 1).kind in _NAMES


def _period_follows(cursor: Cursor) -> bool:
    if not cursor.peek().is_word("PERIOD"):
        return False
    words = [cursor.peek(ahead).text.upper() for ahead in range(1, 5)]
    return words[0] == "FOR" or words[:3] == ["IF", "EXISTS", "FOR"] or words == _UNLESS_THERE


_UNLESS_THERE = ["IF", "NOT", "EXISTS", "FOR"]
_SYSTEM_TIME = "SYSTEM_TIME"


@dataclass(frozen=True, slots=True)
class Period:
    """MariaDB's PERIOD FOR a name: columns `start` and `end`, which become NOT NULL.

    One of the application adds no column; that of a versioned table (`is_system`) has hidden ones
    where it does not name its own.
    """

    name: str
    start: str = ""
    end: str = ""

    @property
    def is_system(self) -> bool:
        """Whether it is of system versioning."""
        return self.name.upper() == _SYSTEM_TIME

    def not_null(self, columns: Iterable[ColumnDefinition]) -> list[ColumnDefinition]:
        """The columns as the period leaves them."""
        own = {self.start.casefold(), self.end.casefold()}
        return [
            replace(column, nullable=column.nullable and column.name.casefold() not in own)
            for column in columns
        ]

    def in_key(self, key: Key) -> Key:
        """A key WITHOUT OVERLAPS of the period, of the columns that the server makes it of."""
        parts: list[tuple[str, int]] = []
        for column, prefix in zip(key.columns, key.prefixes, strict=True):
            same = column.casefold() == self.name.casefold()  # which no column may have
            parts += [(self.end, 0), (self.start, 0)] if same else [(column, prefix)]
        columns, prefixes = zip(*parts, strict=True)
        return replace(key, columns=columns, prefixes=prefixes)


def read_period(element: Sequence[Token]) -> Period | None:
    """The period that an element declares, or that ALTER TABLE drops; None for any other element.

    Raises `ReadError`.
    """
    cursor = Cursor(element)
    if not _period_follows(cursor):
        return None
    while not cursor.accept("FOR"):
        cursor.next()
    name = cursor.name()
    if cursor.done:
        return Period(name)
    columns = Cursor(cursor.group())
    start = columns.name()
    columns.accept_sign(",")
    return Period(name, start, columns.name())
