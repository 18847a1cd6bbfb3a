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
from functools import partial

from decoder.transactions import may_change_tables
from pipeline.schema_history.ddl.alter import read_alter
from pipeline.schema_history.ddl.column_clause import read_charset
from pipeline.schema_history.ddl.create import SEQUENCE, read_create
from pipeline.schema_history.ddl.cursor import ReadError, TokenCursor, skip_set_statement
from pipeline.schema_history.ddl.effects import (
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
from pipeline.schema_history.ddl.keys import ChangeKeys, key_of
from pipeline.schema_history.ddl.lexer import LexError, StatementContext
from pipeline.schema_history.ddl.names import read_name, read_names

__all__ = ["StatementContext", "effects"]


def effects(query: str, session: StatementContext) -> list[Effect]:
    """Return the statement's effects in order; none if it changes no table."""
    if not may_change_tables(query):
        return []
    try:
        cursor = TokenCursor(session.tokens(query))
    except LexError as error:
        return _unlexable(query, session, str(error))
    return _statement(cursor, session)


def _statement(cursor: TokenCursor, session: StatementContext) -> list[Effect]:
    skip_set_statement(cursor)
    for words, read in _STATEMENTS:
        if cursor.accept(*words):
            try:
                return read(cursor, session)
            except ReadError as error:
                harmless = read in _HARMLESS
                return [] if harmless else [Unreadable(f"{' '.join(words)}: {error}")]
    return []


def _unlexable(query: str, session: StatementContext, reason: str) -> list[Effect]:
    """Return the effects of a statement with a lexical error: hold the tables named before it.

    If the statement may name more tables after the error, any table may be affected.
    """
    found = _statement(TokenCursor(session.readable_tokens(query)), session)
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


def _drop_tables(cursor: TokenCursor, session: StatementContext) -> list[Effect]:
    cursor.accept("IF", "EXISTS")
    return [DropTable(name) for name in read_names(cursor, session.schema)]


def _drop_schema(cursor: TokenCursor, session: StatementContext) -> list[Effect]:
    cursor.accept("IF", "EXISTS")
    return [DropSchema(cursor.name())]


def _create_schema(cursor: TokenCursor, session: StatementContext) -> list[Effect]:
    if_not_exists = cursor.accept("IF", "NOT", "EXISTS")
    return [CreateSchema(cursor.name(), if_not_exists, read_charset(cursor))]


def _replace_schema(cursor: TokenCursor, session: StatementContext) -> list[Effect]:
    """Read MariaDB's CREATE OR REPLACE DATABASE, which drops every table of the old schema."""
    schema = cursor.name()
    return [DropSchema(schema), CreateSchema(schema, False, read_charset(cursor))]


def _alter_schema(cursor: TokenCursor, session: StatementContext) -> list[Effect]:
    """Read ALTER DATABASE [name] …, which defaults to the session's schema."""
    unnamed = cursor.peek().is_word("DEFAULT", "CHARACTER", "CHARSET", "COLLATE", "COMMENT")
    schema = session.schema if unnamed else cursor.name()
    charset = read_charset(cursor)
    return [AlterSchema(schema, charset)] if schema and charset else []


def _rename(cursor: TokenCursor, session: StatementContext) -> list[Effect]:
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


def _truncate(cursor: TokenCursor, session: StatementContext) -> list[Effect]:
    cursor.accept("TABLE")
    return [TruncateTable(read_name(cursor, session.schema))]


def _dropped_index(cursor: TokenCursor, session: StatementContext) -> list[Effect]:
    """Read DROP INDEX: the index may be the one that the server logs as the table's key."""
    cursor.accept("IF", "EXISTS")
    index = cursor.name()
    cursor.expect("ON")
    return [AlterTable(read_name(cursor, session.schema), (ChangeKeys(dropped=index),))]


def _created_index(
    cursor: TokenCursor, session: StatementContext, *, unique: bool, replaces: bool
) -> list[Effect]:
    """Read CREATE [OR REPLACE] INDEX: the server may log a new UNIQUE index as the table's key.

    MariaDB's OR REPLACE drops a previous index of that name.
    """
    cursor.accept("IF", "NOT", "EXISTS")
    index = cursor.name()
    while not cursor.accept("ON"):
        cursor.next()
    table = read_name(cursor, session.schema)
    dropped = [ChangeKeys(dropped=index)] if replaces else []
    added = [ChangeKeys(added=key_of(index, cursor))] if unique else []
    return [AlterTable(table, (*dropped, *added))]


_unique_index = partial(_created_index, unique=True, replaces=False)
_replaced_index = partial(_created_index, unique=False, replaces=True)
_replaced_unique_index = partial(_created_index, unique=True, replaces=True)


def _create_temporary(cursor: TokenCursor, session: StatementContext) -> list[Effect]:
    cursor.accept("IF", "NOT", "EXISTS")
    return [CreateTemporary(read_name(cursor, session.schema))]


def _create_or_replace(cursor: TokenCursor, session: StatementContext) -> list[Effect]:
    created = read_create(cursor, session)
    dropped: list[Effect] = [DropTable(e.name) for e in created if hasattr(e, "name")]
    return dropped + created


def _create_sequence(cursor: TokenCursor, session: StatementContext) -> list[Effect]:
    """Read MariaDB's CREATE SEQUENCE: a one-row table that changes with every number taken."""
    cursor.accept("IF", "NOT", "EXISTS")
    name = read_name(cursor, session.schema)
    return [Unsupported(name, SEQUENCE, creates=True, left_out=True)]


def _drop_sequence(cursor: TokenCursor, session: StatementContext) -> list[Effect]:
    return _drop_tables(cursor, session)


_FORMS: dict[Callable[[TokenCursor, StatementContext], list[Effect]], tuple[str, ...]] = {
    read_create: ("CREATE TABLE",),
    _create_or_replace: ("CREATE OR REPLACE TABLE",),
    _create_temporary: ("CREATE TEMPORARY TABLE", "CREATE OR REPLACE TEMPORARY TABLE"),
    _create_sequence: ("CREATE SEQUENCE", "CREATE OR REPLACE SEQUENCE"),
    _drop_sequence: ("DROP SEQUENCE",),
    _create_schema: ("CREATE DATABASE", "CREATE SCHEMA"),
    _replace_schema: ("CREATE OR REPLACE DATABASE", "CREATE OR REPLACE SCHEMA"),
    read_alter: ("ALTER TABLE", "ALTER ONLINE TABLE", "ALTER OFFLINE TABLE"),
    partial(read_alter, ignore=True): (
        *("ALTER IGNORE TABLE", "ALTER ONLINE IGNORE TABLE", "ALTER OFFLINE IGNORE TABLE"),
    ),
    _drop_tables: ("DROP TABLE", "DROP TABLES"),
    _alter_schema: ("ALTER DATABASE", "ALTER SCHEMA"),
    _drop_schema: ("DROP DATABASE", "DROP SCHEMA"),
    _unique_index: (
        *("CREATE UNIQUE INDEX", "CREATE ONLINE UNIQUE INDEX", "CREATE OFFLINE UNIQUE INDEX"),
    ),
    _replaced_unique_index: ("CREATE OR REPLACE UNIQUE INDEX",),
    _replaced_index: (
        *("CREATE OR REPLACE INDEX", "CREATE OR REPLACE FULLTEXT INDEX"),
        *("CREATE OR REPLACE SPATIAL INDEX", "CREATE OR REPLACE VECTOR INDEX"),
    ),
    _dropped_index: ("DROP INDEX", "DROP ONLINE INDEX", "DROP OFFLINE INDEX"),
    _rename: ("RENAME TABLE", "RENAME TABLES"),
    _truncate: ("TRUNCATE",),
}
"""Statement readers, and the first words of what they read; the readers continue after these."""
_STATEMENTS = [(form.split(), read) for read, forms in _FORMS.items() for form in forms]

_HARMLESS = (
    *(_dropped_index, _unique_index, _replaced_index, _replaced_unique_index),
    *(read_create, _create_schema, _alter_schema),
    *(_create_temporary, _create_sequence, _drop_sequence),
)
"""Readers of statements that change no existing row. If a changed index is the key, the next table
map shows it; a new table whose name cannot be read is unknown until rows are logged for it."""
