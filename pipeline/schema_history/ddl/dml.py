"""Read the target tables of DML that is logged as text.

Only the target list is read. In a multi-table statement every joined table is a target, because
only the server can resolve which of them its columns belong to. For changes made by triggers and
foreign keys see `pipeline.schema_history.timeline.consequences`.
"""

from __future__ import annotations

from collections.abc import Iterator

from pipeline.schema_history.ddl.cursor import ReadError, TokenCursor, skip_set_statement
from pipeline.schema_history.ddl.effects import TableName
from pipeline.schema_history.ddl.lexer import LexError, StatementContext, Token
from pipeline.schema_history.ddl.names import read_name

_HEAD = 64
"""The number of tokens in which INSERT, REPLACE and LOAD name their table; the rows after them may
be megabytes."""
_MODIFIERS = ("LOW_PRIORITY", "DELAYED", "HIGH_PRIORITY", "QUICK", "IGNORE")
_QUERIES = ("SELECT", "WITH", "VALUES", "TABLE")
_JOINS = ("JOIN", "STRAIGHT_JOIN")


def targets(query: str, session: StatementContext) -> frozenset[TableName] | None:
    """Return the tables whose rows the statement may change.

    None if they cannot be determined: CALL, a SELECT logged for the functions it calls, or a
    statement that cannot be parsed.
    """
    try:
        head = TokenCursor(session.first_tokens(query, _HEAD))
        skip_set_statement(head)
        while head.accept_sign("("):
            pass
        if head.accept_any("INSERT", "REPLACE"):
            return frozenset({_inserted(head, session)})
        if head.accept("LOAD"):
            return frozenset({_loaded(head, session)})
        return _joined_targets(query, session)
    except (LexError, ReadError):
        return None


def _inserted(cursor: TokenCursor, session: StatementContext) -> TableName:
    """Read INSERT [modifiers] [INTO] table."""
    while cursor.accept_any(*_MODIFIERS):
        pass
    cursor.accept("INTO")
    return read_name(cursor, session.schema)


def _loaded(cursor: TokenCursor, session: StatementContext) -> TableName:
    """Read LOAD {DATA | XML} … INTO TABLE table."""
    while not cursor.accept("INTO", "TABLE"):
        cursor.next()
    return read_name(cursor, session.schema)


def _joined_targets(query: str, session: StatementContext) -> frozenset[TableName] | None:
    cursor = TokenCursor(session.tokens(query))
    skip_set_statement(cursor)
    while cursor.accept_sign("("):
        pass
    local = frozenset(name.casefold() for name in _common_tables(cursor))
    if cursor.accept("UPDATE"):
        while cursor.accept_any(*_MODIFIERS):
            pass
        listed = _until(cursor, "SET")
    elif cursor.accept("DELETE"):
        listed = _deleted(cursor)
    else:
        return None
    found = frozenset(_table_references(listed, session, local))
    if not found:
        raise ReadError("it names no table")
    return found


def _common_tables(cursor: TokenCursor) -> list[str]:
    """Read the names in an optional WITH [RECURSIVE] name [(columns)] AS (query), …."""
    names: list[str] = []
    if not cursor.accept("WITH"):
        return names
    cursor.accept("RECURSIVE")
    while True:
        names.append(cursor.name())
        cursor.skip_group()
        cursor.expect("AS")
        cursor.group()
        if not cursor.accept_sign(","):
            return names


def _deleted(cursor: TokenCursor) -> list[Token]:
    """Return the tokens of the table list of a DELETE.

    Forms: DELETE FROM t …, DELETE FROM a, b USING joined …, DELETE a, b FROM joined ….
    """
    while cursor.accept_any(*_MODIFIERS):
        pass
    if not cursor.accept("FROM"):
        _until(cursor, "FROM")
        cursor.accept("FROM")
        return _until(cursor, "WHERE", "ORDER", "LIMIT")
    listed = _until(cursor, "USING", "WHERE", "ORDER", "LIMIT", "RETURNING")
    if cursor.accept("USING"):
        listed = _until(cursor, "WHERE", "ORDER", "LIMIT")
    return listed


def _until(cursor: TokenCursor, *words: str) -> list[Token]:
    """Return the tokens up to the first of these words outside parentheses."""
    found: list[Token] = []
    depth = 0
    while not cursor.done:
        if depth == 0 and cursor.peek().is_word(*words):
            return found
        token = cursor.next()
        depth += token.is_sign("(") - token.is_sign(")")
        found.append(token)
    return found


def _table_references(
    listed: list[Token], session: StatementContext, local: frozenset[str]
) -> Iterator[TableName]:
    """Yield the tables in `a, b AS x JOIN (c, d) ON … LEFT JOIN (SELECT …) y USING (…)`.

    `local` are the names of the statement's common table expressions, which are skipped.
    """
    cursor = TokenCursor(listed)
    expects_table = True
    while not cursor.done:
        if not expects_table:
            expects_table = _skip_to_table(cursor)
            continue
        expects_table = False
        cursor.accept("LATERAL")
        if not cursor.peek().is_sign("("):
            whole = cursor.peek(1).is_sign(".")
            name = read_name(cursor, session.schema)
            if whole or name.table.casefold() not in local:
                yield name
            continue
        inner = cursor.group()
        if inner and not inner[0].is_word(*_QUERIES):
            yield from _table_references(inner, session, local)


def _skip_to_table(cursor: TokenCursor) -> bool:
    """Skip one token or parenthesized group; return True if a table name follows."""
    if cursor.skip_group():
        return False
    token = cursor.next()
    return token.is_sign(",") or token.is_word(*_JOINS)
