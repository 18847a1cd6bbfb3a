"""Parse CREATE TABLE after its first two words."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from decoder import TableDefinition
from decoder.model import ColumnDefinition
from pipeline.schema_history.ddl.actions import NewColumn
from pipeline.schema_history.ddl.column_clause import read_column
from pipeline.schema_history.ddl.column_types import accept_charset
from pipeline.schema_history.ddl.cursor import ReadError, TokenCursor, split
from pipeline.schema_history.ddl.effects import (
    CreateTable,
    CreateTableLike,
    Effect,
    TableName,
    Unsupported,
)
from pipeline.schema_history.ddl.elements import is_column, read_period
from pipeline.schema_history.ddl.foreign_key_clause import ForeignKey, read_foreign_key
from pipeline.schema_history.ddl.keys import Key, read_key
from pipeline.schema_history.ddl.lexer import Kind, StatementContext, Token
from pipeline.schema_history.ddl.model import TableModel
from pipeline.schema_history.ddl.names import read_name
from pipeline.schema_history.ddl.partition_clause import COPY_REMEDY, partitioned_by

BLACKHOLE = "a BLACKHOLE table stores no rows: it is not replicated"
VERSIONED = (
    "a table WITH SYSTEM VERSIONING logs historical rows besides those that SELECT returns:"
    " it is not replicated"
)
SEQUENCE = "a SEQUENCE is not a table of rows: it is not replicated"
_SELECTS = ("SELECT", "WITH", "VALUES", "TABLE")


def read_create(cursor: TokenCursor, session: StatementContext) -> list[Effect]:
    """Return the statement's effect. Raises `ReadError` only if the table's name cannot be read."""
    if_not_exists = cursor.accept("IF", "NOT", "EXISTS")
    name = read_name(cursor, session.schema)
    try:
        return [_body(cursor, name, if_not_exists, session)]
    except ReadError as error:
        return [Unsupported(name, f"CREATE TABLE: {error}", creates=True)]


def _body(
    cursor: TokenCursor, name: TableName, if_not_exists: bool, session: StatementContext
) -> Effect:
    if cursor.accept("LIKE"):
        return CreateTableLike(name, read_name(cursor, session.schema), if_not_exists)
    elements = cursor.group() if cursor.peek().is_sign("(") else []
    if elements and elements[0].is_word("LIKE"):
        like = read_name(TokenCursor(elements[1:]), session.schema)
        return CreateTableLike(name, like, if_not_exists)
    options = cursor.rest()
    if reason := _left_out(elements, options):
        return Unsupported(name, reason, creates=True, left_out=True)
    if not elements or elements[0].is_word(*_SELECTS) or _selects(options):
        reason = (
            f"CREATE TABLE … SELECT in statement format: its rows are not in the log{COPY_REMEDY}"
        )
        return Unsupported(name, reason, creates=True)
    charset, engine = _options(options)
    parts = split(elements)
    columns, keys, definition = _definition(name, parts, session.sql_mode, charset)
    model = TableModel(engine=engine, keys=tuple(keys), charset=charset).renamed({}, columns)
    model = replace(model, partitioning=partitioned_by(options))
    foreign = tuple(_foreign_keys(parts, columns)) if model.has_foreign_keys else ()
    return CreateTable(name, definition, if_not_exists, foreign, model, tuple(columns))


def _foreign_keys(
    parts: Sequence[Sequence[Token]], columns: Sequence[NewColumn]
) -> Iterator[ForeignKey]:
    """Yield the foreign keys in statement order: table elements and column declarations."""
    inline = {column.definition.name: column.references for column in columns}
    for part in parts:
        if found := read_foreign_key(part):
            yield found[0]
        elif is_column(part) and (key := inline[TokenCursor(part).name()]):
            yield key


def _left_out(elements: Sequence[Token], options: Sequence[Token]) -> str:
    """Return the reason why the table is not replicated, or an empty string."""
    if _options(options)[1] == "BLACKHOLE":
        return BLACKHOLE
    words = [token.text.upper() if token.kind is Kind.WORD else "" for token in options]
    if "SEQUENCE" in words[: words.index("PARTITION") if "PARTITION" in words else None]:
        return SEQUENCE
    for tokens in (elements, options):
        cursor = TokenCursor(tokens)
        while not cursor.done:
            if cursor.accept("WITH", "SYSTEM", "VERSIONING"):
                return VERSIONED
            cursor.next()
    return ""


def _selects(options: Sequence[Token]) -> bool:
    """Return True if a query follows the table options.

    A query in parentheses follows only a keyword.
    """
    cursor = TokenCursor(options)
    while not cursor.done:
        if cursor.accept_any("SELECT", "AS", "IGNORE", "REPLACE"):
            return True
        if not cursor.skip_group():
            cursor.next()
    return False


def _options(options: Sequence[Token]) -> tuple[str | None, str]:
    """Return the default charset (None: not named) and the engine in capitals (or empty)."""
    cursor = TokenCursor(options)
    charset: str | None = None
    engine = ""
    while not cursor.done and not cursor.peek().is_word("PARTITION"):
        if (named := accept_charset(cursor)) is not None:
            charset = named or charset
        elif cursor.accept("ENGINE"):
            cursor.accept_sign("=")
            engine = cursor.string_or_name().upper()
        else:
            cursor.next()
    return charset, engine


def _definition(
    name: TableName, parts: Sequence[Sequence[Token]], sql_mode: int, charset: str | None
) -> tuple[list[NewColumn], list[Key], TableDefinition]:
    columns: list[NewColumn] = []
    keys: list[Key] = []
    for part in parts:
        if key := read_key(part):
            keys.append(key)
        elif is_column(part):
            columns.append(read_column(part, sql_mode, charset))
            if own := columns[-1].key:
                keys.append(own)
    definitions = [column.definition for column in columns]
    for period in filter(None, map(read_period, parts)):
        definitions = period.not_null(definitions)
        keys = [period.in_key(key) for key in keys]
    primary = next((key for key in keys if key.primary), None)
    return columns, keys, _with_key(name, definitions, primary)


def _with_key(
    name: TableName, columns: Sequence[ColumnDefinition], key: Key | None
) -> TableDefinition:
    """Return the table definition; key columns are NOT NULL even if not declared so."""
    index = {column.name.casefold(): i for i, column in enumerate(columns)}
    try:
        primary = tuple(index[column.casefold()] for column in key.columns) if key else ()
    except KeyError as error:
        raise ReadError(f"the primary key names an unknown column: {error}") from error
    return TableDefinition(
        schema=name.schema,
        table=name.table,
        columns=tuple(
            replace(column, nullable=column.nullable and i not in primary)
            for i, column in enumerate(columns)
        ),
        primary_key=primary,
        primary_key_prefixes=key.prefixes if key else (),
    )
