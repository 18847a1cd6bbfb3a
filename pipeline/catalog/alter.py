"""ALTER TABLE, after those words: its actions, sorted into what is applied and what is not."""

from __future__ import annotations

from collections.abc import Sequence

from pipeline.catalog.column_clause import cascade, read_column
from pipeline.catalog.column_types import TypeContext
from pipeline.catalog.cursor import Cursor, ReadError, split
from pipeline.catalog.effects import AddColumns, Effect, NewColumn, TableName, Unsupported
from pipeline.catalog.lexer import Kind, Token
from pipeline.catalog.names import read_name

_PARTITION_ROWS = ("DROP", "TRUNCATE", "EXCHANGE", "DISCARD", "IMPORT")
"""Actions that change or remove rows when PARTITION follows; all others only move rows."""
_NO_COLUMN = (
    *("INDEX", "KEY", "UNIQUE", "FULLTEXT", "SPATIAL", "CONSTRAINT", "FOREIGN", "CHECK"),
    *("PARTITION", "PRIMARY"),
)
"""What ADD and DROP can be followed by that is not a column."""


def read_alter(cursor: Cursor, schema: str | None, sql_mode: int) -> list[Effect]:
    """The statement's effect. Raises `ReadError` only while the table's name is not read yet."""
    cursor.accept("IF", "EXISTS")
    name = read_name(cursor, schema)
    added: list[NewColumn] = []
    reasons: list[str] = []
    others: list[Effect] = []
    for action in split(cursor.rest()):
        try:
            added.extend(_added(action, sql_mode))
            reasons.extend(filter(None, [_unsupported(action)]))
            others.extend(_other_tables(action, name, schema))
        except ReadError as error:
            reasons.append(f"ALTER TABLE: {error}")
    if any(column.primary for column in added):
        reasons.append("a primary key is added, which is not applied yet")
    if reasons:
        return [Unsupported(name, reason) for reason in reasons[:1]] + others
    return [AddColumns(name, tuple(added))] if added else []


def _added(action: Sequence[Token], sql_mode: int) -> list[NewColumn]:
    """The columns of an ADD [COLUMN]."""
    cursor = Cursor(action)
    if not cursor.accept("ADD"):
        return []
    if not cursor.accept("COLUMN") and _names_no_column(cursor):
        return []
    cursor.accept("IF", "NOT", "EXISTS")
    context = TypeContext(sql_mode=sql_mode)
    if not cursor.peek().is_sign("("):
        return [read_column(cursor.rest(), context)]
    parts = split(cursor.group())
    return [read_column(part, context) for part in parts if not part[0].is_word(*_NO_COLUMN)]


def _names_no_column(cursor: Cursor) -> bool:
    """Also MariaDB's PERIOD FOR … and SYSTEM VERSIONING, whose first words may name a column."""
    followed = cursor.peek(1).is_word("FOR", "VERSIONING")
    return cursor.peek().is_word(*_NO_COLUMN) or (
        followed and cursor.peek().is_word("PERIOD", "SYSTEM")
    )


def _unsupported(action: Sequence[Token]) -> str:
    """Why an action cannot be applied, or nothing."""
    cursor = Cursor(action)
    verb = cursor.next().text.upper() if action and action[0].kind is Kind.WORD else ""
    if verb in _PARTITION_ROWS and cursor.accept("PARTITION"):
        return f"{verb} PARTITION changes rows that are not in the log"
    if verb in ("IMPORT", "DISCARD") and cursor.accept("TABLESPACE"):
        return f"{verb} TABLESPACE changes rows that are not in the log"
    check = _VERBS.get(verb)
    return check(cursor) if check else ""


def _add(cursor: Cursor) -> str:
    parts = cursor.rest()
    if action := cascade(parts):
        return f"a foreign key with {action} is added, which is not applied yet"
    words = [token.text.upper() for token in parts]
    if "PRIMARY" in words[:1] or (words[:1] == ["CONSTRAINT"] and "PRIMARY" in words[1:3]):
        return "a primary key is added, which is not applied yet"
    return ""


def _drop(cursor: Cursor) -> str:
    if cursor.accept("PRIMARY"):
        return "its primary key is dropped, which is not applied yet"
    if cursor.accept_any("INDEX", "KEY"):
        primary = cursor.name().upper() == "PRIMARY"
        return "its primary key is dropped, which is not applied yet" if primary else ""
    if not cursor.accept("COLUMN") and _names_no_column(cursor):
        return ""
    cursor.accept("IF", "EXISTS")
    return f"column {cursor.name()} is dropped, which is not applied yet"


def _rename(cursor: Cursor) -> str:
    if cursor.accept_any("INDEX", "KEY"):
        return ""
    if cursor.accept("COLUMN"):
        return f"column {cursor.name()} is renamed, which is not applied yet"
    return "it is renamed, which is not applied yet"


def _change(cursor: Cursor) -> str:
    cursor.accept("COLUMN")
    cursor.accept("IF", "EXISTS")
    return f"column {cursor.name()} is changed, which is not applied yet"


def _convert(cursor: Cursor) -> str:
    return "its columns are converted to another character set, which is not applied yet"


def _engine(cursor: Cursor) -> str:
    cursor.accept_sign("=")
    blackhole = not cursor.done and cursor.string_or_name().upper() == "BLACKHOLE"
    return "it becomes a BLACKHOLE table" if blackhole else ""


_VERBS = {
    "ADD": _add,
    "DROP": _drop,
    "RENAME": _rename,
    "CHANGE": _change,
    "MODIFY": _change,
    "CONVERT": _convert,
    "ENGINE": _engine,
}


def _other_tables(action: Sequence[Token], name: TableName, schema: str | None) -> list[Effect]:
    """Tables besides the statement's own that an action changes."""
    cursor = Cursor(action)
    if cursor.accept("EXCHANGE", "PARTITION"):
        cursor.name()
        cursor.expect("WITH", "TABLE")
        other = read_name(cursor, schema)
        return [Unsupported(other, f"its rows are exchanged with a partition of {name}")]
    if cursor.accept("RENAME") and not cursor.peek().is_word("COLUMN", "INDEX", "KEY"):
        cursor.accept_any("TO", "AS") or cursor.accept_sign("=")
        new = read_name(cursor, schema)
        return [Unsupported(new, f"renamed from {name}", creates=True)]
    return []
