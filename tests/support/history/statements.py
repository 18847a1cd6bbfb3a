"""Statements on one table: rows, keys that move, and definitions."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence

from tests.support.history.model import KEY_KINDS, KINDS, Column, Table

NULL_SHARE = 0.15

RowStatement = Callable[[random.Random, Table], list[str]]


def value(rng: random.Random, column: Column) -> str:
    """A value, or NULL where a column may be NULL."""
    if column.nullable and rng.random() < NULL_SHARE:
        return "NULL"
    return column.kind.value(rng)


def row(rng: random.Random, table: Table, key: Sequence[str] | None = None) -> str:
    """`(value, …)` for all columns."""
    keys = key if key is not None else key_values(rng, table)
    return f"({', '.join([*keys, *(value(rng, column) for column in table.columns)])})"


def key_values(rng: random.Random, table: Table) -> list[str]:
    """A key, which may or may not be there."""
    return [column.kind.value(rng) for column in table.key]


def where(table: Table, key: Sequence[str]) -> str:
    """The condition for a key."""
    pairs = zip(table.key, key, strict=True)
    return " AND ".join(f"`{column.name}` = {text}" for column, text in pairs)


def insert(rng: random.Random, table: Table) -> list[str]:
    """Some rows; those whose key is there already are left out."""
    rows = ", ".join(row(rng, table) for _ in range(rng.choice((1, 1, 2, 6))))
    return [f"INSERT IGNORE INTO {table.sql} ({_names(table)}) VALUES {rows}"]


def replace(rng: random.Random, table: Table) -> list[str]:
    """Rows that delete what has their key."""
    rows = ", ".join(row(rng, table) for _ in range(rng.choice((1, 2, 4))))
    return [f"REPLACE INTO {table.sql} ({_names(table)}) VALUES {rows}"]


def upsert(rng: random.Random, table: Table) -> list[str]:
    """A row, or a change of the one that has its key."""
    change = assignment(rng, table)
    inserted = f"INSERT INTO {table.sql} ({_names(table)}) VALUES {row(rng, table)}"
    return [f"{inserted} ON DUPLICATE KEY UPDATE {change}"]


def update(rng: random.Random, table: Table) -> list[str]:
    """A column of some rows."""
    return [f"UPDATE {table.sql} SET {assignment(rng, table)} WHERE {_some(rng, table)}"]


def delete(rng: random.Random, table: Table) -> list[str]:
    """Some rows."""
    return [f"DELETE FROM {table.sql} WHERE {_some(rng, table)} LIMIT {rng.choice((1, 3))}"]


def move(rng: random.Random, table: Table) -> list[str]:
    """A row to another key, if that is free."""
    old, new = key_values(rng, table), key_values(rng, table)
    assigned = ", ".join(f"`{c.name}` = {v}" for c, v in zip(table.key, new, strict=True))
    return [f"UPDATE IGNORE {table.sql} SET {assigned} WHERE {where(table, old)}"]


def swap(rng: random.Random, table: Table) -> list[str]:
    """Two rows' keys against each other over a third key (in one transaction, if one is open)."""
    first, second, third = (key_values(rng, table) for _ in range(3))
    column = table.key[0].name
    order = ((first, third), (second, first), (third, second))
    return [
        f"UPDATE IGNORE {table.sql} SET `{column}` = {new[0]} WHERE {where(table, old)}"
        for old, new in order
    ]


def again(rng: random.Random, table: Table) -> list[str]:
    """Delete a row and insert one of the same key."""
    key = key_values(rng, table)
    return [
        f"DELETE FROM {table.sql} WHERE {where(table, key)}",
        f"INSERT IGNORE INTO {table.sql} ({_names(table)}) VALUES {row(rng, table, key)}",
    ]


def assignment(rng: random.Random, table: Table) -> str:
    """`column = value` for one or two columns that are not of the key."""
    chosen = rng.sample(table.columns, min(len(table.columns), rng.choice((1, 2))))
    return ", ".join(f"`{column.name}` = {value(rng, column)}" for column in chosen)


KEYED: tuple[tuple[RowStatement, int], ...] = (
    *((insert, 8), (replace, 4), (upsert, 4), (update, 6)),
    *((delete, 2), (move, 2), (swap, 1), (again, 1)),
)
"""With weights."""
KEYLESS: tuple[tuple[RowStatement, int], ...] = ((insert, 6), (update, 3), (delete, 2))


def rows(rng: random.Random, table: Table) -> list[str]:
    """Any change of rows that fits the table."""
    kinds = KEYLESS if table.bag else KEYED
    (chosen,) = rng.choices([kind for kind, _ in kinds], [weight for _, weight in kinds])
    return chosen(rng, table)


def create(table: Table) -> str:
    """CREATE TABLE."""
    columns = [f"`{column.name}` {column.kind.sql}" for column in table.all_columns]
    key = ", ".join(f"`{column.name}`" for column in table.key)
    parts = [*columns, *([] if table.bag else [f"PRIMARY KEY ({key})"])]
    parts += [table.references] if table.references else []
    return f"CREATE TABLE {table.sql} ({', '.join(parts)})"


def child(parent: Table, name: str, columns: list[Column]) -> Table:
    """A table whose rows go with those of the parent that they name."""
    key = ", ".join(f"`{column.name}`" for column in parent.key)
    references = f"FOREIGN KEY ({key}) REFERENCES {parent.sql} ({key}) ON DELETE CASCADE"
    number = Column("child", KEY_KINDS[-1], nullable=False)
    made = Table(parent.schema, name, (*parent.key, number), columns)
    made.family, made.references = parent.family, references
    return made


def add_column(rng: random.Random, table: Table, number: int) -> str:
    """ADD COLUMN, one or two, anywhere; the table has them from now on.

    Columns are always named in INSERTs, so their places do not matter to the model.
    """
    added = []
    for n in range(rng.choice((1, 1, 2))):
        kind = rng.choice(KINDS)
        nullable = kind.default is None or rng.random() < 0.6
        default = f" DEFAULT {kind.default}" if kind.default else ""
        place = rng.choice(("", "", " FIRST", f" AFTER `{rng.choice(table.all_columns).name}`"))
        column = Column(f"added {number}.{n}", kind, nullable)
        null = "" if nullable else " NOT NULL"
        added.append(f"ADD COLUMN `{column.name}` {kind.sql}{null}{default}{place}")
        table.columns.append(column)
    return f"ALTER TABLE {table.sql} {', '.join(added)}"


def _some(rng: random.Random, table: Table) -> str:
    """A condition that holds for a few rows."""
    column = rng.choice(table.key)
    operator = rng.choice(("=", "=", "<", ">"))
    return f"`{column.name}` {operator} {column.kind.value(rng)}"


def _names(table: Table) -> str:
    return ", ".join(f"`{column.name}`" for column in table.all_columns)
