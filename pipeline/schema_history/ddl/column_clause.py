"""Parse column declarations of CREATE and ALTER TABLE: a type, then attributes in any order."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from pipeline.schema_history.ddl.actions import NewColumn
from pipeline.schema_history.ddl.addresses import default_in_bytes
from pipeline.schema_history.ddl.column_types import accept_charset, read_type, with_charset
from pipeline.schema_history.ddl.cursor import TokenCursor
from pipeline.schema_history.ddl.foreign_key_clause import read_reference
from pipeline.schema_history.ddl.lexer import Kind, Token


def read_column(
    tokens: Sequence[Token], sql_mode: int, table_charset: str | None = None
) -> NewColumn:
    """Read one declaration, with FIRST or AFTER. Raises `ReadError`."""
    cursor = TokenCursor(tokens)
    name = cursor.name()
    kind = cursor.peek().text.upper()
    definition = read_type(cursor, name, sql_mode, table_charset)
    column = NewColumn(definition, charset=read_charset(TokenCursor(tokens[1:])))
    if kind == "SERIAL":
        column = replace(column, **_FLAGS["SERIAL DEFAULT VALUE"])
    while not cursor.done:
        column = _attribute(cursor, column)
    if logical := column.definition.logical:
        column = replace(column, default=default_in_bytes(logical, column.default))
    if column.primary:
        column = replace(column, definition=replace(column.definition, nullable=False))
    return column


def read_charset(cursor: TokenCursor) -> str | None:
    """Return the charset that a declaration or option list names, directly or by its collation."""
    found: str | None = None
    while not cursor.done and not cursor.accept("AFTER"):
        if (named := accept_charset(cursor)) is not None:
            found = named or found
        elif not cursor.skip_group():
            cursor.next()
    return found


def _attribute(cursor: TokenCursor, column: NewColumn) -> NewColumn:
    for read in (_default, _flag, _references, _computed, _presentation):
        found = read(cursor, column)
        if found is not None:
            return found
    if not cursor.skip_group():  # CHECK (…), and attributes of later versions
        cursor.next()
    return column


def _references(cursor: TokenCursor, column: NewColumn, name: str = "") -> NewColumn | None:
    if not cursor.accept("REFERENCES"):
        return None
    columns = (column.definition.name,)
    key = replace(read_reference(cursor), columns=columns, name=name, inline=True)
    return replace(column, references=key)


def _default(cursor: TokenCursor, column: NewColumn) -> NewColumn | None:
    if cursor.accept("ON", "UPDATE"):
        read_default(cursor)
        return column
    if not cursor.accept("DEFAULT"):
        return None
    return replace(column, default=tuple(read_default(cursor)))


def read_default(cursor: TokenCursor) -> list[Token]:
    """Return the tokens of a DEFAULT's value.

    It is an expression in parentheses, a literal (signed or with an introducer), NULL, NOW(), or on
    MariaDB a function call or CASE.
    """
    tokens = _first_of_default(cursor)
    # Attributes begin with a word: anything else still belongs to the value, which is then unknown.
    while not cursor.done and cursor.peek().kind is not Kind.WORD:
        tokens.append(cursor.next())
    return tokens


def _first_of_default(cursor: TokenCursor) -> list[Token]:
    first = cursor.next()
    tokens = [first]
    if first.is_sign("("):
        return [first, *_to_end(cursor, "(", ")")]
    if first.is_sign("{"):
        return [first, *_to_end(cursor, "{", "}")]
    if first.is_word("CASE"):
        depth = 1
        while depth:
            tokens.append(cursor.next())
            depth += tokens[-1].is_word("CASE") - tokens[-1].is_word("END")
    elif first.is_sign("-") or first.is_sign("+") or first.is_word("NOT", "BINARY"):
        tokens.extend(_first_of_default(cursor))
    elif first.kind is Kind.WORD and cursor.peek().kind is not Kind.WORD:
        follows = cursor.peek()
        if follows.is_sign("(") or follows.kind in (Kind.STRING, Kind.BYTES, Kind.BITS):
            tokens.extend(_first_of_default(cursor))
    return tokens


def _to_end(cursor: TokenCursor, opens: str, closes: str) -> list[Token]:
    """Return the tokens up to and including the closing sign."""
    depth, tokens = 1, list[Token]()
    while depth:
        tokens.append(cursor.next())
        depth += tokens[-1].is_sign(opens) - tokens[-1].is_sign(closes)
    return tokens


def _computed(cursor: TokenCursor, column: NewColumn) -> NewColumn | None:
    if cursor.accept("GENERATED", "ALWAYS", "AS") or cursor.accept("AS"):
        expression = tuple(cursor.group())
        stored = cursor.accept_any("STORED", "PERSISTENT") is not None
        return replace(column, computed="a generated column", expression=expression, stored=stored)
    return None


_FLAGS: dict[str, dict[str, Any]] = {
    "AUTO_INCREMENT": {"computed": "AUTO_INCREMENT"},
    "SERIAL DEFAULT VALUE": {"computed": "AUTO_INCREMENT", "unique": True},
    **{words: {"unique": True} for words in ("UNIQUE KEY", "UNIQUE")},
    **{words: {"primary": True} for words in ("PRIMARY KEY", "PRIMARY", "KEY")},
    "NULL": {"explicit_null": True},
    "FIRST": {"place": ""},
}
"""Attributes without a value, and what they say of the column; the longest first."""


def _flag(cursor: TokenCursor, column: NewColumn) -> NewColumn | None:
    for words, fields in _FLAGS.items():
        if cursor.accept(*words.split()):
            return replace(column, **fields)
    if cursor.accept("NOT", "NULL"):
        return replace(column, definition=replace(column.definition, nullable=False))
    if cursor.accept("INVISIBLE"):
        return replace(column, definition=replace(column.definition, visible=False))
    return None


def _presentation(cursor: TokenCursor, column: NewColumn) -> NewColumn | None:
    if (charset := accept_charset(cursor)) is not None:
        collated = with_charset(column.definition, charset) if charset else column.definition
        return replace(column, definition=collated)
    if cursor.accept("AFTER"):
        return replace(column, place=cursor.name())
    if cursor.accept_any("COMMENT", "COLUMN_FORMAT", "STORAGE"):
        cursor.next()
        return column
    if cursor.accept("CONSTRAINT"):
        name = "" if cursor.peek().is_word("CHECK", "REFERENCES") else cursor.name()
        return _references(cursor, column, name) or column
    return None
