"""Read a logged statement's effects on tables.

Most statements do not matter to replication (users, grants, views, routines, …): their first words
identify them, and they are never parsed. A statement that changes a table's columns, key, name or
rows in a way that is not replicated is `Unsupported` for the tables that it names. A statement that
cannot be parsed is `Unsupported` too or, if not even its table's name is found, `Unreadable`: no
possible change to a table is skipped. Index and schema statements that cannot be parsed are
ignored, because no row depends on them.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from decoder.transactions.statements import may_change_tables
from pipeline.catalog.ddl.alter import read_alter
from pipeline.catalog.ddl.column_clause import read_charset
from pipeline.catalog.ddl.create import SEQUENCE, read_create
from pipeline.catalog.ddl.cursor import Cursor, ReadError, skip_set_statement
from pipeline.catalog.ddl.effects import (
    AlterSchema,
    AlterTable,
    CreateSchema,
    CreateTemporary,
    DropSchema,
    DropTable,
    Effect,
    RenameTables,
    TableName,
    TruncateTable,
    Unreadable,
    Unsupported,
)
from pipeline.catalog.ddl.keys import ChangeKeys, key_of
from pipeline.catalog.ddl.lexer import LexError, Token, first_tokens, readable_tokens, tokens
from pipeline.catalog.ddl.names import read_name, read_names


@dataclass(frozen=True, slots=True)
class Session:
    """The context that a statement is parsed in: default schema, sql_mode and server version."""

    schema: str | None = None
    sql_mode: int = 0
    server_version: int | None = None
    mariadb: bool = False

    def tokens(self, query: str) -> list[Token]:
        """Return the statement's tokens. Raises `LexError`."""
        return tokens(query, self.sql_mode, self.server_version, mariadb=self.mariadb)

    def readable_tokens(self, query: str) -> list[Token]:
        """Return the tokens before the first lexical error."""
        return readable_tokens(query, self.sql_mode, self.server_version, mariadb=self.mariadb)

    def first_tokens(self, query: str, count: int) -> list[Token]:
        """Return the first `count` tokens. Raises `LexError`."""
        return first_tokens(query, count, self.sql_mode, self.server_version, mariadb=self.mariadb)


def effects(query: str, session: Session) -> list[Effect]:
    """Return the statement's effects in order; none if it changes no table."""
    if not may_change_tables(query):
        return []
    try:
        cursor = Cursor(session.tokens(query))
    except LexError as error:
        return _unlexable(query, session, str(error))
    return _statement(cursor, session)


def _statement(cursor: Cursor, session: Session) -> list[Effect]:
    skip_set_statement(cursor)
    for words, read in _STATEMENTS:
        if cursor.accept(*words):
            try:
                return read(cursor, session)
            except ReadError as error:
                harmless = read in _HARMLESS
                return [] if harmless else [Unreadable(f"{' '.join(words)}: {error}")]
    return []


def _unlexable(query: str, session: Session, reason: str) -> list[Effect]:
    """Return the effects of a statement with a lexical error: hold the tables named before it.

    If the statement may name more tables after the error, any table may be affected.
    """
    found = _statement(Cursor(session.readable_tokens(query)), session)
    names = [name for effect in found for name in _names(effect)]
    held: list[Effect] = [Unsupported(name, reason) for name in names]
    listed = any(isinstance(e, (DropTable, RenameTables, Unreadable)) for e in found)
    whole = [effect for effect in found if isinstance(effect, (CreateSchema, DropSchema))]
    return [*held, *([Unreadable(reason)] if listed else []), *whole]


def _names(effect: Effect) -> list[TableName]:
    """Return the tables that an effect names."""
    if isinstance(effect, RenameTables):
        return [name for pair in effect.pairs for name in pair]
    if isinstance(effect, (CreateSchema, AlterSchema, DropSchema, Unreadable)):
        return []
    return [effect.name]


def _drop_tables(cursor: Cursor, session: Session) -> list[Effect]:
    cursor.accept("IF", "EXISTS")
    return [DropTable(name) for name in read_names(cursor, session.schema)]


def _drop_schema(cursor: Cursor, session: Session) -> list[Effect]:
    cursor.accept("IF", "EXISTS")
    return [DropSchema(cursor.name())]


def _create_schema(cursor: Cursor, session: Session) -> list[Effect]:
    if_not_exists = cursor.accept("IF", "NOT", "EXISTS")
    return [CreateSchema(cursor.name(), if_not_exists, read_charset(cursor))]


def _replace_schema(cursor: Cursor, session: Session) -> list[Effect]:
    """Read MariaDB's CREATE OR REPLACE DATABASE, which drops every table of the old schema."""
    schema = cursor.name()
    return [DropSchema(schema), CreateSchema(schema, False, read_charset(cursor))]


def _alter_schema(cursor: Cursor, session: Session) -> list[Effect]:
    """Read ALTER DATABASE [name] …, which defaults to the session's schema."""
    unnamed = cursor.peek().is_word("DEFAULT", "CHARACTER", "CHARSET", "COLLATE", "COMMENT")
    schema = session.schema if unnamed else cursor.name()
    charset = read_charset(cursor)
    return [AlterSchema(schema, charset)] if schema and charset else []


def _rename(cursor: Cursor, session: Session) -> list[Effect]:
    pairs = []
    while True:
        cursor.accept("IF", "EXISTS")
        old = read_name(cursor, session.schema)
        if cursor.accept_any("WAIT"):  # MariaDB's
            cursor.next()
        cursor.accept("NOWAIT")
        cursor.expect("TO")
        pairs.append((old, read_name(cursor, session.schema)))
        if not cursor.accept_sign(","):
            return [RenameTables(tuple(pairs))]


def _truncate(cursor: Cursor, session: Session) -> list[Effect]:
    cursor.accept("TABLE")
    return [TruncateTable(read_name(cursor, session.schema))]


def _dropped_index(cursor: Cursor, session: Session) -> list[Effect]:
    """Read DROP INDEX: the index may be the one that the server logs as the table's key."""
    cursor.accept("IF", "EXISTS")
    index = cursor.name()
    cursor.expect("ON")
    return [AlterTable(read_name(cursor, session.schema), (ChangeKeys(dropped=index),))]


def _replaced_index(cursor: Cursor, session: Session) -> list[Effect]:
    """Read MariaDB's CREATE OR REPLACE INDEX, which drops a previous index of that name."""
    index, table = _index_on(cursor, session)
    return [AlterTable(table, (ChangeKeys(dropped=index),))]


def _replaced_unique_index(cursor: Cursor, session: Session) -> list[Effect]:
    index, table = _index_on(cursor, session)
    added = key_of(index, cursor)
    return [AlterTable(table, (ChangeKeys(dropped=index), ChangeKeys(added=added)))]


def _index_on(cursor: Cursor, session: Session) -> tuple[str, TableName]:
    index = cursor.name()
    while not cursor.accept("ON"):
        cursor.next()
    return index, read_name(cursor, session.schema)


def _unique_index(cursor: Cursor, session: Session) -> list[Effect]:
    """Read CREATE UNIQUE INDEX: the server may log the new index as the table's key."""
    cursor.accept("IF", "NOT", "EXISTS")
    index, table = _index_on(cursor, session)
    return [AlterTable(table, (ChangeKeys(added=key_of(index, cursor)),))]


def _create(cursor: Cursor, session: Session) -> list[Effect]:
    return read_create(cursor, session.schema, session.sql_mode)


def _create_temporary(cursor: Cursor, session: Session) -> list[Effect]:
    cursor.accept("IF", "NOT", "EXISTS")
    return [CreateTemporary(read_name(cursor, session.schema))]


def _create_or_replace(cursor: Cursor, session: Session) -> list[Effect]:
    created = read_create(cursor, session.schema, session.sql_mode)
    dropped: list[Effect] = [DropTable(e.name) for e in created if hasattr(e, "name")]
    return dropped + created


def _create_sequence(cursor: Cursor, session: Session) -> list[Effect]:
    """Read MariaDB's CREATE SEQUENCE: a one-row table that changes with every number taken."""
    cursor.accept("IF", "NOT", "EXISTS")
    name = read_name(cursor, session.schema)
    return [Unsupported(name, SEQUENCE, creates=True, left_out=True)]


def _drop_sequence(cursor: Cursor, session: Session) -> list[Effect]:
    return _drop_tables(cursor, session)


def _alter(cursor: Cursor, session: Session) -> list[Effect]:
    return read_alter(cursor, session.schema, session.sql_mode)


def _alter_ignore(cursor: Cursor, session: Session) -> list[Effect]:
    return read_alter(cursor, session.schema, session.sql_mode, ignore=True)


_STATEMENTS: tuple[tuple[tuple[str, ...], Callable[[Cursor, Session], list[Effect]]], ...] = (
    (("CREATE", "TABLE"), _create),
    (("CREATE", "OR", "REPLACE", "TABLE"), _create_or_replace),
    (("CREATE", "TEMPORARY", "TABLE"), _create_temporary),
    (("CREATE", "OR", "REPLACE", "TEMPORARY", "TABLE"), _create_temporary),
    (("CREATE", "SEQUENCE"), _create_sequence),
    (("CREATE", "OR", "REPLACE", "SEQUENCE"), _create_sequence),
    (("DROP", "SEQUENCE"), _drop_sequence),
    (("CREATE", "DATABASE"), _create_schema),
    (("CREATE", "SCHEMA"), _create_schema),
    (("CREATE", "OR", "REPLACE", "DATABASE"), _replace_schema),
    (("CREATE", "OR", "REPLACE", "SCHEMA"), _replace_schema),
    (("ALTER", "TABLE"), _alter),
    (("ALTER", "IGNORE", "TABLE"), _alter_ignore),
    (("ALTER", "ONLINE", "IGNORE", "TABLE"), _alter_ignore),
    (("ALTER", "OFFLINE", "IGNORE", "TABLE"), _alter_ignore),
    (("ALTER", "ONLINE", "TABLE"), _alter),
    (("ALTER", "OFFLINE", "TABLE"), _alter),
    (("DROP", "TABLE"), _drop_tables),
    (("DROP", "TABLES"), _drop_tables),
    (("ALTER", "DATABASE"), _alter_schema),
    (("ALTER", "SCHEMA"), _alter_schema),
    (("DROP", "DATABASE"), _drop_schema),
    (("DROP", "SCHEMA"), _drop_schema),
    (("CREATE", "UNIQUE", "INDEX"), _unique_index),
    (("CREATE", "ONLINE", "UNIQUE", "INDEX"), _unique_index),
    (("CREATE", "OFFLINE", "UNIQUE", "INDEX"), _unique_index),
    (("CREATE", "OR", "REPLACE", "UNIQUE", "INDEX"), _replaced_unique_index),
    *(
        (("CREATE", "OR", "REPLACE", *kind, "INDEX"), _replaced_index)
        for kind in ((), ("FULLTEXT",), ("SPATIAL",), ("VECTOR",))
    ),
    (("DROP", "INDEX"), _dropped_index),
    (("DROP", "ONLINE", "INDEX"), _dropped_index),
    (("DROP", "OFFLINE", "INDEX"), _dropped_index),
    (("RENAME", "TABLE"), _rename),
    (("RENAME", "TABLES"), _rename),
    (("TRUNCATE",), _truncate),
)
"""Statement readers by first words."""

_HARMLESS = (
    *(_dropped_index, _unique_index, _replaced_index, _replaced_unique_index),
    *(_create, _create_schema, _alter_schema),
    *(_create_temporary, _create_sequence, _drop_sequence),
)
"""Readers of statements that change no existing row. If a changed index is the key, the next table
map shows it; a new table whose name cannot be read is unknown until rows are logged for it."""
