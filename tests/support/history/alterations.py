"""ALTER TABLE with one or several changes of columns and keys, valid whatever the rows are.

Each action takes a table, of which it may use the columns that no other action of the statement has
touched, updates the model of the table, and returns its clause, or None if it does not apply.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace

from tests.support.history.kinds import CONVERSIONS, KEY_CONVERSIONS, KINDS, OUTSIDE
from tests.support.history.model import Column, Feature, Kind, Session, Table, World
from tests.support.history.sessions import STRICT

COMMENTS = (
    *(("", ""), ("", ""), ("", " -- the end"), ("", " # it's the end")),
    *(("/* it's; a `comment */ ", ""), ("-- before\n", ""), ("/*!50000 ", " */")),
)
"""Comments placed around a statement."""

_Action = Callable[[World, Table, set[str]], "str | None"]


def alter(world: World, session: Session, table: Table) -> None:
    """ALTER TABLE with one to three actions, perhaps followed by one on the key or the name."""
    old = table.sql
    touched: set[str] = set()
    clauses = [
        clause
        for _ in range(world.rng.choice((1, 1, 2, 3)))
        if (clause := _any(world, table, touched)) is not None
    ]
    if not clauses:
        return
    before = replace(table)
    may_move = Feature.RENAMES in world.features and table in world.alone()
    if may_move and world.rng.random() < 0.1 and not _stays_beside(world, table):
        table.name = table.family = world.new_name()
        clauses.append(f"RENAME TO {table.sql}")
    world.take(session, f"SET SESSION sql_mode = {STRICT}")
    begin, end = world.rng.choice(COMMENTS)
    world.take(session, f"{begin}ALTER TABLE {old} {', '.join(clauses)}{end}", before, table)


def _stays_beside(world: World, table: Table) -> bool:
    """True if ALTER TABLE … RENAME TO may leave the table under its old name as well.

    MariaDB 10.11 and 11.8 do if they copy a table whose file name contains encoded characters.
    """
    return world.mariadb and re.fullmatch("[A-Za-z0-9_]+", table.name) is None


def alter_any(world: World, session: Session) -> None:
    """ALTER TABLE of a table that is free."""
    if tables := world.free():
        alter(world, session, world.rng.choice(tables))


def add_columns(world: World, session: Session) -> None:
    """ADD COLUMN for one or two columns, at any place."""
    tables = world.free()
    if not tables:
        return
    table = world.rng.choice(tables)
    clauses = [_add(world, table, set()) for _ in range(world.rng.choice((1, 1, 2)))]
    if not any(clause.endswith(" FIRST") or " AFTER " in clause for clause in clauses):
        declared = ", ".join(clause.removeprefix("ADD COLUMN ") for clause in clauses)
        clauses = [f"ADD COLUMN ({declared})"]
    world.take(session, f"ALTER TABLE {table.sql} {', '.join(clauses)}", table)


def truncate(world: World, session: Session) -> None:
    """TRUNCATE TABLE."""
    if tables := world.alone():
        table = world.rng.choice(tables)
        world.take(session, f"TRUNCATE TABLE {table.sql}", table)


def rekey(world: World, session: Session) -> None:
    """Add, drop or redeclare the table's key."""
    alone = (table for table in world.alone() if not table.references)
    tables = [table for table in alone if not table.key[0].numbered]
    if not tables:
        return
    table = world.rng.choice(tables)
    known = table.index
    choices = {"PRIMARY", "UNIQUE", *([""] if Feature.KEYLESS in world.features else [])} - {known}
    index = world.rng.choice(sorted(choices))
    if not known:  # without a unique key, rows may repeat
        world.take(session, f"TRUNCATE TABLE {table.sql}", table)
    dropped = {"PRIMARY": "DROP PRIMARY KEY", "UNIQUE": "DROP INDEX `u`", "": ""}[known]
    table.index = index
    added = f"ADD {key_clause(table)} ({table.names})" if index else ""
    if world.rng.random() < 0.3 and dropped and added:
        world.take(session, f"ALTER TABLE {table.sql} {added}", table)
        world.take(session, f"ALTER TABLE {table.sql} {dropped}", table)
    else:
        clauses = ", ".join(clause for clause in (dropped, added) if clause)
        world.take(session, f"ALTER TABLE {table.sql} {clauses}", table)


def widen_key(world: World, session: Session) -> None:
    """Extend the key by a column, or reorder its columns."""
    alone = (table for table in world.alone() if table.index and not table.references)
    tables = [table for table in alone if not table.key[0].numbered]
    if not tables:
        return
    table = world.rng.choice(tables)
    more = [c for c in table.plain if not c.nullable and c.kind.sql.partition("(")[0] in _KEYS]
    if more and world.rng.random() < 0.6:
        table.key = (*table.key, more[0])
        table.columns.remove(more[0])
    else:
        table.key = tuple(world.rng.sample(table.key, len(table.key)))
    dropped = "DROP PRIMARY KEY" if table.index == "PRIMARY" else "DROP INDEX `u`"
    added = f"ADD {key_clause(table)} ({table.names})"
    if table.plain:
        world.take(session, f"ALTER TABLE {table.sql} {dropped}, {added}", table)


_KEYS = ("INT", "BIGINT", "DECIMAL", "DATE", "ENUM", "SET", "YEAR", "BIT", "VARBINARY")


def uncertain(world: World, session: Session) -> None:
    """A change whose effect on the rows cannot be determined from the log."""
    alone = (table for table in world.alone() if not table.references)
    tables = [table for table in alone if len(table.plain) > 1]
    if not tables:
        return
    table = world.rng.choice(tables)
    table.features.add(Feature.UNCERTAIN)
    column = world.rng.choice(table.plain)
    if world.rng.random() < 0.5:
        added = Column(f"computed {world.next_number()}", KINDS[0], generated="AS (1 + 1) STORED")
        table.columns.append(added)
        world.take(session, f"ALTER TABLE {table.sql} ADD {added.declaration}", table)
        return
    new = replace(column, kind=world.rng.choice(OUTSIDE), default=None, nullable=True)
    table.replace(column, new)
    world.take(session, "SET SESSION sql_mode = ''")
    world.take(session, f"ALTER TABLE {table.sql} MODIFY {new.declaration}", table)


def key_clause(table: Table) -> str:
    """Return the clause that declares the key, without its columns."""
    return "PRIMARY KEY" if table.index == "PRIMARY" else "UNIQUE KEY `u`"


# --- actions --------------------------------------------------------------------------------------


def _any(world: World, table: Table, touched: set[str]) -> str | None:
    actions: tuple[tuple[_Action, int], ...] = (
        *((_add, 4), (_drop, 3), (_rename, 3), (_exchange_names, 1), (_move, 3), (_convert, 5)),
        *((_nullability, 2), (_set_default, 1), (_nothing, 1)),
    )
    (action,) = world.rng.choices([a for a, _ in actions], [weight for _, weight in actions])
    return action(world, table, touched)


def _untouched(table: Table, touched: set[str], *, keys: bool = True) -> list[Column]:
    """Return columns that may change: not used by generated columns or foreign keys."""
    if any(column.generated for column in table.columns):
        touched |= {table.columns[0].name}
    columns = table.given if keys and not table.references else table.plain
    return [column for column in columns if column.name not in touched and not column.refers]


def _place(world: World, table: Table, touched: set[str]) -> str:
    others = [column for column in table.all_columns if column.name not in touched]
    if not others or world.rng.random() < 0.4:
        return world.rng.choice(("", " FIRST"))
    column = world.rng.choice(others)
    touched.add(column.name)
    return f" AFTER {column.sql}"


def _add(world: World, table: Table, touched: set[str]) -> str:
    kind = world.rng.choice(KINDS)
    default = kind.default if world.rng.random() < 0.7 else None
    nullable = default is None or world.rng.random() < 0.6
    name = world.column_name({*table.column_names, *touched})
    column = Column(name, kind, nullable, default)
    place = _place(world, table, touched)
    touched.add(name)
    table.columns.append(column)
    return f"ADD COLUMN {column.declaration}{place}"


def _drop(world: World, table: Table, touched: set[str]) -> str | None:
    columns = _untouched(table, touched, keys=False)
    if len(columns) < 2 or len(table.plain) < 2:
        return None
    column = world.rng.choice(columns)
    table.columns.remove(column)
    touched.add(column.name)
    clause = f"DROP COLUMN {column.sql}"
    if world.rng.random() < 0.3:  # a new column takes its name
        new = replace(column, kind=world.rng.choice(KINDS), default=None, nullable=True)
        table.columns.append(new)
        clause += f", ADD {new.declaration}"
    return clause


def _rename(world: World, table: Table, touched: set[str]) -> str | None:
    columns = _untouched(table, touched)
    if not columns or table.references:
        return None
    old = world.rng.choice(columns)
    new = replace(old, name=world.column_name({*table.column_names, *touched}))
    if world.rng.random() < 0.2 and old.name.swapcase().casefold() == old.name.casefold():
        new = replace(old, name=old.name.swapcase())
    touched |= {old.name, new.name}
    if world.rng.random() < 0.5:
        table.replace(old, new)
        return f"RENAME COLUMN {old.sql} TO {new.sql}"
    kinds = _conversions(table, old)
    if kinds and not table.referred and world.rng.random() < 0.5:
        kind = world.rng.choice(kinds)
        default = kind.default if old.default is not None else None
        new = replace(new, kind=kind, default=default)
    table.replace(old, new)
    return f"CHANGE COLUMN {old.sql} {new.declaration}"


def _exchange_names(world: World, table: Table, touched: set[str]) -> str | None:
    columns = _untouched(table, touched, keys=False)
    if world.mariadb or len(columns) < 2:
        return None
    first, second = world.rng.sample(columns, 2)
    touched |= {first.name, second.name}
    new = {
        first.name: replace(first, name=second.name),
        second.name: replace(second, name=first.name),
    }
    table.columns = [new.get(column.name, column) for column in table.columns]
    if world.rng.random() < 0.5:
        return (
            f"RENAME COLUMN {first.sql} TO {second.sql}, RENAME COLUMN {second.sql} TO {first.sql}"
        )
    changes = (f"CHANGE {old.sql} {new[old.name].declaration}" for old in (first, second))
    return ", ".join(changes)


def _move(world: World, table: Table, touched: set[str]) -> str | None:
    columns = _untouched(table, touched)
    if not columns:
        return None
    column = world.rng.choice(columns)
    touched.add(column.name)
    place = _place(world, table, touched) or " FIRST"
    return f"MODIFY COLUMN {column.declaration}{place}"


def _convert(world: World, table: Table, touched: set[str]) -> str | None:
    choices = [
        (column, kind)
        for column in _untouched(table, touched, keys=not table.referred)
        for kind in _conversions(table, column)
    ]
    if not choices:
        return None
    column, kind = world.rng.choice(choices)
    default = kind.default if column.default is not None else None
    new = replace(column, kind=kind, default=default)
    touched.add(column.name)
    table.replace(column, new)
    place = _place(world, table, touched) if world.rng.random() < 0.3 else ""
    return f"MODIFY {new.declaration}{place}"


def _conversions(table: Table, column: Column) -> tuple[Kind, ...]:
    """Return possible types of a column; none if a generated column may depend on it."""
    known = KEY_CONVERSIONS if column in table.key else CONVERSIONS
    if column.numbered or any(other.generated for other in table.columns):
        return ()
    return known.get(column.kind.sql, ())


def _nullability(world: World, table: Table, touched: set[str]) -> str | None:
    columns = [c for c in _untouched(table, touched, keys=False) if not c.nullable]
    if not columns:
        return None
    column = world.rng.choice(columns)
    touched.add(column.name)
    new = replace(column, nullable=True)
    table.replace(column, new)
    return f"MODIFY {new.declaration}"


def _set_default(world: World, table: Table, touched: set[str]) -> str | None:
    columns = [c for c in _untouched(table, touched) if _plain_default(c)]
    if not columns:
        return None
    column = world.rng.choice(columns)
    touched.add(column.name)
    if column.default is not None and world.rng.random() < 0.5:
        table.replace(column, replace(column, default=None))
        return f"ALTER COLUMN {column.sql} DROP DEFAULT"
    table.replace(column, replace(column, default=column.kind.default))
    return f"ALTER COLUMN {column.sql} SET DEFAULT {column.kind.default}"


def _plain_default(column: Column) -> bool:
    default = column.kind.default
    return default is not None and "UPDATE" not in default and not column.numbered


def _nothing(world: World, table: Table, touched: set[str]) -> str | None:
    clauses = ("FORCE", "ENGINE = InnoDB", "COMMENT = 'it''s, a (comment'", "ROW_FORMAT = DYNAMIC")
    return world.rng.choice(clauses)
