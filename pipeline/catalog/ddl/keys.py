"""A table's PRIMARY and UNIQUE keys as DDL tells them, for logs whose table maps tell none.

Which of them the server logs as the primary key: MySQL `sql/table.cc`, `open_binary_frm` and its
successors: PRIMARY, else the first UNIQUE key of whole columns that are all NOT NULL.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from decoder.constants import ColumnType
from decoder.model.definition import ColumnDefinition
from pipeline.catalog.ddl.cursor import Cursor, split
from pipeline.catalog.ddl.lexer import Token

PRIMARY = "PRIMARY"


@dataclass(frozen=True, slots=True)
class Key:
    """One key; `name` is None where the server makes one up out of its first column's.

    `prefixes` has for each column 0 or the prefix length in characters, −1 for an expression.
    `using_hash`: it says so.
    """

    name: str | None
    columns: tuple[str, ...]
    prefixes: tuple[int, ...]
    using_hash: bool = False

    @property
    def primary(self) -> bool:
        """Whether it is the table's PRIMARY KEY."""
        return self.name == PRIMARY

    def may_be_called(self, name: str) -> bool:
        """Whether it may have the name: its own, or one that the server makes up."""
        if self.name is not None:
            return self.name.casefold() == name.casefold()
        stem = re.escape(self.columns[0].casefold()) if self.columns else ""
        return re.fullmatch(rf"{stem}(_\d+)?", name.casefold()) is not None

    def may_need_hash(self, columns: Mapping[str, ColumnDefinition]) -> bool:
        """Whether MariaDB may keep it as a hash of its columns, by their names in lower case: it
        has more bytes than an index takes, or says so (`sql/sql_table.cc`,
        `mysql_prepare_create_table`)."""
        parts = [columns.get(name.casefold()) for name in self.columns]
        known = [column for column in parts if column is not None]
        long = any(
            column.type in _BLOBS and not prefix
            for column, prefix in zip(parts, self.prefixes, strict=True)
            if column is not None
        )
        most = sum(column.length for column in known) > _INDEX_BYTES
        return not self.primary and (self.using_hash or long or most)


_BLOBS = (ColumnType.BLOB, ColumnType.JSON, ColumnType.BLOB_COMPRESSED)
_INDEX_BYTES = 3072
"""The most that InnoDB's index takes. Other engines and ROW_FORMAT=COMPACT take fewer: their tables
are held, rather than that a BIGINT which the definition lacks is taken for a hash."""
Keys = tuple[Key, ...] | None
"""In the order of their declaration; None where they are not known."""


def read_key(part: Sequence[Token]) -> Key | None:
    """The key that a table element declares: [CONSTRAINT [name]] PRIMARY KEY | UNIQUE [KEY] …

    None for any other element. Raises `ReadError`.
    """
    cursor = Cursor(part)
    name: str | None = None
    if cursor.accept("CONSTRAINT"):
        cursor.accept("IF", "NOT", "EXISTS")  # MariaDB's
        if not cursor.peek().is_word("PRIMARY", "UNIQUE"):
            name = cursor.name()
    if cursor.accept("PRIMARY"):
        name = PRIMARY
    elif cursor.accept("UNIQUE"):
        cursor.accept_any("KEY", "INDEX")
        cursor.accept("IF", "NOT", "EXISTS")
        if not (cursor.peek().is_sign("(") or cursor.peek().is_word("USING")):
            name = cursor.name()
    else:
        return None
    return key_of(name, cursor)


def key_of(name: str | None, cursor: Cursor) -> Key:
    """The key whose columns in parentheses are the next ones. Raises `ReadError`."""
    using_hash = False
    while not cursor.peek().is_sign("("):
        using_hash = cursor.next().is_word("HASH")
    parts = [_key_part(Cursor(part)) for part in split(cursor.group())]
    using_hash = using_hash or cursor.accept("USING", "HASH")
    columns, prefixes = tuple(name for name, _ in parts), tuple(length for _, length in parts)
    return Key(name, columns, prefixes, using_hash)


def _key_part(cursor: Cursor) -> tuple[str, int]:
    """column [(length)] [ASC | DESC], or an expression in parentheses."""
    if cursor.peek().is_sign("("):
        return "", -1
    column = cursor.name()
    length = Cursor(cursor.group()).integer() if cursor.peek().is_sign("(") else 0
    return column, length


def of_column(name: str, *, primary: bool) -> Key:
    """The key that a column's own declaration makes of it."""
    return Key(PRIMARY if primary else None, (name,), (0,))


def row_key(keys: Iterable[Key], not_null: Collection[str]) -> Key | None:
    """The key that tells rows apart, of columns whose names are in `not_null`; None: none does."""
    found = list(keys)
    primary = next((key for key in found if key.primary), None)
    names = {name.casefold() for name in not_null}
    unique = (
        key
        for key in found
        if not any(key.prefixes) and all(name.casefold() in names for name in key.columns)
    )
    return primary or next(unique, None)


def dropped(keys: Keys, name: str) -> Keys:
    """Without the key of that name; what is not certain any more is not known."""
    if keys is None:
        return None
    named = [key for key in keys if key.name and key.may_be_called(name)]
    if not named and any(key.may_be_called(name) for key in keys):
        # PRIMARY has no other name: while it is there, which of the others is left does not count.
        left = tuple(key for key in keys if not key.may_be_called(name))
        return left if any(key.primary for key in left) else None
    return tuple(key for key in keys if key not in named)


def renamed(keys: Keys, old: str, new: str) -> Keys:
    """With another name for the key of that name."""
    left = dropped(keys, old)
    certain = any(key.name and key.may_be_called(old) for key in keys or ())
    if keys is None or left is None or not certain:
        return left
    return tuple(key if key in left else replace(key, name=new) for key in keys)


def with_columns(keys: Keys, names: Mapping[str, str | None]) -> Keys:
    """After columns got other names or (None) were dropped, which takes them out of their keys."""
    if keys is None:
        return None
    new = {old.casefold(): name for old, name in names.items()}
    found = []
    for key in keys:
        parts = [
            (new.get(column.casefold(), column), prefix)
            for column, prefix in zip(key.columns, key.prefixes, strict=True)
        ]
        kept = [(column, prefix) for column, prefix in parts if column is not None]
        if kept:
            columns, prefixes = zip(*kept, strict=True)
            found.append(replace(key, columns=columns, prefixes=prefixes))
    return tuple(found)
