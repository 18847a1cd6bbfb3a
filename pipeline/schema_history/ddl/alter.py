"""Parse ALTER TABLE after its first two words: the actions that change columns, keys or rows."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from pipeline.schema_history.ddl.actions import (
    Action,
    AddColumn,
    AddForeignKey,
    AddPeriod,
    ChangeColumn,
    ChangeDefault,
    ConvertCharset,
    DropColumn,
    DropForeignKey,
    Refused,
    RenameColumn,
    RowsNotLogged,
    SetCharset,
    SetEngine,
)
from pipeline.schema_history.ddl.column_clause import read_charset, read_column, read_default
from pipeline.schema_history.ddl.column_types import accept_charset
from pipeline.schema_history.ddl.create import BLACKHOLE
from pipeline.schema_history.ddl.cursor import ReadError, TokenCursor, split
from pipeline.schema_history.ddl.effects import AlterTable, Effect, TableName
from pipeline.schema_history.ddl.elements import is_column, read_period
from pipeline.schema_history.ddl.foreign_key_clause import read_foreign_key
from pipeline.schema_history.ddl.keys import PRIMARY, ChangeKeys, read_key
from pipeline.schema_history.ddl.lexer import Kind, StatementContext, Token
from pipeline.schema_history.ddl.names import read_name
from pipeline.schema_history.ddl.partition_clause import (
    COPY_REMEDY,
    partition_action,
    split_partition_options,
)

_NO_OPTION = (
    *("ADD", "DROP", "RENAME", "CHANGE", "MODIFY", "CONVERT", "ALTER", "ORDER", "PARTITION"),
    *("TRUNCATE", "EXCHANGE", "DISCARD", "IMPORT"),
)
"""Words that begin an action, not a table option."""


def read_alter(
    cursor: TokenCursor, session: StatementContext, *, ignore: bool = False
) -> list[Effect]:
    """Return the statement's effects. Raises `ReadError` only if the table's name cannot be read.

    `ignore`: it is ALTER IGNORE TABLE, which drops rows and changes values that do not fit.
    """
    cursor.accept("IF", "EXISTS")
    name = read_name(cursor, session.schema)
    if cursor.accept("WAIT"):  # MariaDB's
        cursor.next()
    cursor.accept("NOWAIT")
    others: list[Effect] = []
    renamed: TableName | None = None
    tokens, actions = split_partition_options(cursor.rest())
    try:
        if on_partitions := partition_action(tokens, name, session.schema):
            (actions, others), tokens = on_partitions, []
    except ReadError as error:
        actions, tokens = [Refused(f"ALTER TABLE: {error}")], []
    for part in split(tokens):
        try:
            actions.extend(_actions(TokenCursor(part), session.sql_mode))
            actions.extend(_default_charset(TokenCursor(part)))
            renamed = _new_name(TokenCursor(part), session.schema) or renamed
        except ReadError as error:
            actions.append(Refused(f"ALTER TABLE: {error}"))
    if not actions and renamed is None:
        return others
    return [AlterTable(name, tuple(actions), renamed, ignore), *others]


def _actions(cursor: TokenCursor, sql_mode: int) -> Iterator[Action]:
    verb = cursor.next().text.upper() if cursor.peek().kind is Kind.WORD else ""
    if verb in ("IMPORT", "DISCARD") and cursor.accept("TABLESPACE"):
        yield RowsNotLogged(f"{verb} TABLESPACE changes unlogged rows{COPY_REMEDY}")
    elif verb in _VERBS:
        yield from _VERBS[verb](cursor, sql_mode)


def _add(cursor: TokenCursor, sql_mode: int) -> Iterator[Action]:
    column_follows = cursor.accept("COLUMN")
    rest = cursor.rest()
    if not column_follows and not is_column(rest):
        yield from _added_element(rest)
        return
    cursor = TokenCursor(rest)
    if_not_exists = cursor.accept("IF", "NOT", "EXISTS")
    if not cursor.peek().is_sign("("):
        yield AddColumn(read_column(cursor.rest(), sql_mode), if_not_exists)
        return
    for part in split(cursor.group()):
        if is_column(part):
            yield AddColumn(read_column(part, sql_mode), if_not_exists)
        else:
            yield from _added_element(part)


def _added_element(part: Sequence[Token]) -> Iterator[Action]:
    if found := read_foreign_key(part):
        yield AddForeignKey(*found)
    elif key := read_key(part):
        yield ChangeKeys(added=key)
    elif (period := read_period(part)) and not period.is_system:
        yield AddPeriod(period)
    elif period or TokenCursor(part).accept("SYSTEM"):
        yield Refused("versioning adds columns that the statement does not name", left_out=True)


def _drop(cursor: TokenCursor, _sql_mode: int) -> Iterator[Action]:
    if cursor.accept("FOREIGN", "KEY"):
        if_exists = cursor.accept("IF", "EXISTS")
        yield DropForeignKey(cursor.name(), if_exists)
        return
    if cursor.accept("PRIMARY") or cursor.accept("CONSTRAINT", "PRIMARY"):
        yield ChangeKeys(dropped=PRIMARY)
        return
    if kind := cursor.accept_any("INDEX", "KEY", "CONSTRAINT"):
        if_exists = cursor.accept("IF", "EXISTS")
        name = cursor.name()
        yield ChangeKeys(dropped=name)  # it may be the key that identifies rows
        if kind == "CONSTRAINT":
            yield DropForeignKey(name, if_exists, may_be_another=True)
        return
    column_follows = cursor.accept("COLUMN")
    rest = cursor.rest()
    if not column_follows and not is_column(rest):
        period = read_period(rest)
        if period.is_system if period else TokenCursor(rest).accept("SYSTEM"):
            yield Refused("versioning removes columns that the statement does not name")
        return
    cursor = TokenCursor(rest)
    if_exists = cursor.accept("IF", "EXISTS")
    yield DropColumn(cursor.name(), if_exists)


def _rename(cursor: TokenCursor, _sql_mode: int) -> Iterator[Action]:
    if cursor.accept("COLUMN"):
        if_exists = cursor.accept("IF", "EXISTS")
        old = cursor.name()
        cursor.expect("TO")
        yield RenameColumn(old, cursor.name(), if_exists)
    elif cursor.accept_any("INDEX", "KEY"):
        cursor.accept("IF", "EXISTS")
        old = cursor.name()
        cursor.expect("TO")
        yield ChangeKeys(renamed=(old, cursor.name()))


def _change(cursor: TokenCursor, sql_mode: int) -> Iterator[Action]:
    cursor.accept("COLUMN")
    if_exists = cursor.accept("IF", "EXISTS")
    old = cursor.name()
    yield ChangeColumn(old, read_column(cursor.rest(), sql_mode), if_exists)


def _modify(cursor: TokenCursor, sql_mode: int) -> Iterator[Action]:
    cursor.accept("COLUMN")
    if_exists = cursor.accept("IF", "EXISTS")
    name = cursor.peek().text
    yield ChangeColumn(name, read_column(cursor.rest(), sql_mode), if_exists)


def _alter(cursor: TokenCursor, _sql_mode: int) -> Iterator[Action]:
    column_follows = cursor.accept("COLUMN")
    rest = cursor.rest()
    if not column_follows and not is_column(rest):
        return
    cursor = TokenCursor(rest)
    if_exists = cursor.accept("IF", "EXISTS")
    name = cursor.name()
    if cursor.accept("SET", "DEFAULT"):
        yield ChangeDefault(name, tuple(read_default(cursor)), if_exists)
    elif cursor.accept("DROP", "DEFAULT"):
        yield ChangeDefault(name, if_exists=if_exists)


def _convert(cursor: TokenCursor, _sql_mode: int) -> Iterator[Action]:
    cursor.accept("TO")
    charset: str | None = None
    while (named := accept_charset(cursor)) is not None:
        charset = charset or (named if named not in ("", "default") else None)
    yield ConvertCharset(charset)


def _engine(cursor: TokenCursor, _sql_mode: int) -> Iterator[Action]:
    cursor.accept_sign("=")
    engine = "" if cursor.done else cursor.string_or_name().upper()
    if engine == "BLACKHOLE":
        yield Refused(BLACKHOLE, left_out=True)
    elif engine:
        yield SetEngine(engine)


def _default_charset(cursor: TokenCursor) -> Iterator[Action]:
    """Yield the charset among table options, which need no commas between them."""
    if cursor.peek().is_word(*_NO_OPTION):
        return
    charset = read_charset(cursor)
    if charset is not None:
        yield SetCharset(charset)


_VERBS: dict[str, Callable[[TokenCursor, int], Iterator[Action]]] = {
    "ADD": _add,
    "ALTER": _alter,
    "DROP": _drop,
    "RENAME": _rename,
    "CHANGE": _change,
    "MODIFY": _modify,
    "CONVERT": _convert,
    "ENGINE": _engine,
}


def _new_name(cursor: TokenCursor, schema: str | None) -> TableName | None:
    """Read the table's new name in RENAME [TO | AS | =] name."""
    if not cursor.accept("RENAME") or cursor.peek().is_word("COLUMN", "INDEX", "KEY"):
        return None
    cursor.accept_any("TO", "AS") or cursor.accept_sign("=")
    return read_name(cursor, schema)
