"""Foreign keys as statements declare them, and how they follow changes of tables.

Grammar: MySQL's `reference_definition` and MariaDB's, in CREATE and ALTER TABLE. Only InnoDB
enforces them: other engines parse and discard the clause, as servers before MySQL 9.0 and MariaDB
10.5 do with REFERENCES in a column's declaration. InnoDB has no SET DEFAULT action.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from pipeline.schema_history.ddl.cursor import ReadError, TokenCursor, split
from pipeline.schema_history.ddl.lexer import Token

CASCADE, SET_NULL = "CASCADE", "SET NULL"
"""The actions that change child rows when a parent row is deleted or its key updated."""
_GENERATED = "_ibfk_"


@dataclass(frozen=True, slots=True)
class ForeignKey:
    """A foreign key: `columns` refer to `parent_columns` (empty: the primary key) of `parent`.

    `parent` is (schema, table). `on_delete` and `on_update` are CASCADE, SET NULL, or empty. `name`
    is empty until the server generates one. `inline`: declared with its column.
    """

    columns: tuple[str, ...]
    parent: tuple[str, str]
    parent_columns: tuple[str, ...] = ()
    on_delete: str = ""
    on_update: str = ""
    name: str = ""
    inline: bool = False

    @property
    def cascades(self) -> bool:
        """True if it ever changes rows by itself."""
        return bool(self.on_delete or self.on_update)


def read_foreign_key(part: Sequence[Token]) -> tuple[ForeignKey, bool] | None:
    """Return a table element's foreign key and whether it says IF NOT EXISTS (MariaDB), or None."""
    cursor = TokenCursor(part)
    name = ""
    if cursor.accept("CONSTRAINT") and not cursor.peek().is_word("FOREIGN"):
        name = cursor.name()
    if not cursor.accept("FOREIGN", "KEY"):
        return None
    if_not_exists = cursor.accept("IF", "NOT", "EXISTS")
    if not cursor.peek().is_sign("("):
        cursor.name()  # the name of its index
    columns = _columns(cursor)
    cursor.expect("REFERENCES")
    return replace(read_reference(cursor), columns=columns, name=name), if_not_exists


def read_reference(cursor: TokenCursor) -> ForeignKey:
    """Read the clause after REFERENCES; the result has no `columns`."""
    schema, table = "", cursor.name()
    if cursor.accept_sign("."):
        schema, table = table, cursor.name()
    columns = _columns(cursor) if cursor.peek().is_sign("(") else ()
    actions = {"DELETE": "", "UPDATE": ""}
    while True:
        if cursor.accept("MATCH"):
            cursor.next()
        elif cursor.peek().is_word("ON") and cursor.peek(1).is_word(*actions):
            cursor.next()
            event = cursor.next().text.upper()
            actions[event] = _action(cursor)
        else:
            break
    return ForeignKey((), (schema, table), columns, actions["DELETE"], actions["UPDATE"])


def _action(cursor: TokenCursor) -> str:
    if cursor.accept("CASCADE"):
        return CASCADE
    if cursor.accept("SET", "NULL"):
        return SET_NULL
    if cursor.accept("RESTRICT") or cursor.accept("NO", "ACTION") or cursor.accept("SET"):
        cursor.accept("DEFAULT")
        return ""
    raise ReadError(f"unknown foreign key action {cursor.peek().text!r}")


def _columns(cursor: TokenCursor) -> tuple[str, ...]:
    return tuple(TokenCursor(part).name() for part in split(cursor.group()))


def named(
    keys: Iterable[ForeignKey], schema: str, table: str, known: Iterable[ForeignKey] = ()
) -> tuple[ForeignKey, ...]:
    """Return `known` and the new `keys` of a table, with names generated as the server does.

    MySQL's `generate_fk_name`: the table's name and one more than the greatest number in use.
    """
    found = list(known)
    prefix = f"{table}{_GENERATED}"
    numbers = [key.name.removeprefix(prefix) for key in found if key.name.startswith(prefix)]
    last = max((int(number) for number in numbers if number.isdigit()), default=0)
    for key in keys:
        last += not key.name
        parent = (key.parent[0] or schema, key.parent[1])
        found.append(replace(key, parent=parent, name=key.name or f"{prefix}{last}"))
    return tuple(found)


def renamed_table(key: ForeignKey, old: str, new: str) -> ForeignKey:
    """Return the key of a renamed table: a generated name changes with the table's."""
    prefix = f"{old}{_GENERATED}"
    if not key.name.startswith(prefix):
        return key
    return replace(key, name=f"{new}{_GENERATED}{key.name.removeprefix(prefix)}")


def renamed_columns(
    names: Sequence[str], changed: Mapping[str, str | None]
) -> tuple[str, ...] | None:
    """Return a key's columns after an ALTER (old names to new ones); None if one is dropped.

    Names are compared case-insensitively.
    """
    folded = {old.casefold(): new for old, new in changed.items()}
    found = [folded.get(name.casefold(), name) for name in names]
    kept = tuple(name for name in found if name is not None)
    return kept if len(kept) == len(found) else None
