"""Statements that change rows of one table: values, documents, moved keys."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence

from tests.support.history.model import Column, Feature, Table

NULL_SHARE = 0.15
LEFT_OUT_SHARE = 0.4

RowStatement = Callable[[random.Random, Table], list[str]]

_DOCUMENTS = (
    "JSON_SET({}, '$.n', {})",
    "JSON_REPLACE({}, '$.tags[0]', 'tag {}')",
    "JSON_SET({}, '$.deep', CAST('{{\"y\": [{}]}}' AS JSON))",
    "JSON_REMOVE({}, '$.deep.x')",
    "JSON_SET({}, '$[1]', {})",
    "JSON_REPLACE({}, '$.n', {}, '$.\"ü\"', 'short')",
    "JSON_REMOVE({}, '$.tags[1]', '$.n')",
    "JSON_ARRAY_INSERT({}, '$.tags[0]', {})",
)
"""Changes within a document, most of them logged as partial updates (PARTIAL_JSON)."""


def value(rng: random.Random, column: Column) -> str:
    """Return a value, sometimes NULL if the column is nullable."""
    if column.nullable and rng.random() < NULL_SHARE:
        return "NULL"
    return column.kind.value(rng)


def key_values(rng: random.Random, table: Table) -> list[str]:
    """Return a key, which may or may not exist."""
    return [column.kind.value(rng) for column in table.key]


def where(table: Table, key: Sequence[str]) -> str:
    """Return the condition for a key."""
    pairs = zip(table.key, key, strict=True)
    return " AND ".join(f"{column.sql} = {text}" for column, text in pairs)


def insertion(
    rng: random.Random, table: Table, rows: int, keys: Sequence[Sequence[str]] | None = None
) -> str:
    """Return `(column, …) VALUES (value, …), …` of this many rows; some columns may be omitted."""
    plain = [column for column in table.plain if not _left_out(rng, table, column)]
    keys = keys or [key_values(rng, table) for _ in range(rows)]
    if table.key[0].numbered and rng.random() < 0.5:
        keys = [["NULL"] for _ in keys]
    texts = (", ".join([*key, *(value(rng, column) for column in plain)]) for key in keys)
    names = ", ".join(column.sql for column in (*table.key, *plain))
    return f"({names}) VALUES {', '.join(f'({text})' for text in texts)}"


def _left_out(rng: random.Random, table: Table, column: Column) -> bool:
    if Feature.DEFAULTS not in table.features or rng.random() > LEFT_OUT_SHARE:
        return False
    return column.nullable or column.default is not None


def insert(rng: random.Random, table: Table) -> list[str]:
    """Insert some rows, ignoring duplicates."""
    return [f"INSERT IGNORE INTO {table.sql} {insertion(rng, table, rng.choice((1, 1, 2, 6)))}"]


def replace(rng: random.Random, table: Table) -> list[str]:
    """Insert rows, replacing those of the same key."""
    return [f"REPLACE INTO {table.sql} {insertion(rng, table, rng.choice((1, 2, 4)))}"]


def upsert(rng: random.Random, table: Table) -> list[str]:
    """Insert rows, or update those of the same key."""
    inserted = f"INSERT INTO {table.sql} {insertion(rng, table, rng.choice((1, 1, 3)))}"
    change = assignment(rng, table)
    if rng.random() < 0.2:  # the same key, perhaps spelled differently
        change += f", {table.key[0].sql} = VALUES({table.key[0].sql})"
    return [f"{inserted} ON DUPLICATE KEY UPDATE {change}"]


def update(rng: random.Random, table: Table) -> list[str]:
    """Update a column of some rows."""
    return [f"UPDATE {table.sql} SET {assignment(rng, table)} WHERE {some(rng, table)}"]


def edit(rng: random.Random, table: Table) -> list[str]:
    """Update part of a document in some rows, or a column if the table has no documents."""
    documents = [column for column in table.plain if column.kind.sql == "JSON"]
    if not documents:
        return update(rng, table)
    column = rng.choice(documents)
    changed = rng.choice(_DOCUMENTS).format(column.sql, rng.randrange(100))
    assigned = [f"{column.sql} = {changed}"]
    others = [other for other in table.plain if other != column]
    if others and rng.random() < 0.3:
        other = rng.choice(others)
        assigned.append(f"{other.sql} = {value(rng, other)}")
    return [f"UPDATE {table.sql} SET {', '.join(assigned)} WHERE {some(rng, table)}"]


def delete(rng: random.Random, table: Table) -> list[str]:
    """Delete some rows."""
    return [f"DELETE FROM {table.sql} WHERE {some(rng, table)} LIMIT {rng.choice((1, 3))}"]


def move(rng: random.Random, table: Table) -> list[str]:
    """Move a row to another key if that is free, changing other columns as well."""
    old, new = key_values(rng, table), key_values(rng, table)
    assigned = ", ".join(f"{c.sql} = {v}" for c, v in zip(table.key, new, strict=True))
    if rng.random() < 0.3:
        assigned += f", {assignment(rng, table)}"
    return [f"UPDATE IGNORE {table.sql} SET {assigned} WHERE {where(table, old)}"]


def swap(rng: random.Random, table: Table) -> list[str]:
    """Swap the keys of two rows through a third key (in one transaction, if one is open)."""
    first, second, third = (key_values(rng, table) for _ in range(3))
    column = table.key[0]
    order = ((first, third), (second, first), (third, second))
    return [
        f"UPDATE IGNORE {table.sql} SET {column.sql} = {new[0]} WHERE {where(table, old)}"
        for old, new in order
    ]


def shift(rng: random.Random, table: Table) -> list[str]:
    """Move a chain of rows, each to the key that the previous one just left."""
    column = table.key[0]
    if column.kind.sql not in ("INT", "BIGINT", "SMALLINT"):
        return swap(rng, table)
    step, order = rng.choice((("+", "DESC"), ("-", "ASC")))
    moved = f"UPDATE IGNORE {table.sql} SET {column.sql} = {column.sql} {step} 1"
    return [f"{moved} ORDER BY {column.sql} {order} LIMIT 4"]


def again(rng: random.Random, table: Table) -> list[str]:
    """Delete a row and insert one with the same key."""
    key = key_values(rng, table)
    return [
        f"DELETE FROM {table.sql} WHERE {where(table, key)}",
        f"INSERT IGNORE INTO {table.sql} {insertion(rng, table, 1, [key])}",
    ]


def twice(rng: random.Random, table: Table) -> list[str]:
    """Insert the same row twice."""
    inserted = f"INSERT IGNORE INTO {table.sql} {insertion(rng, table, 1)}"
    return [inserted, inserted]


def assignment(rng: random.Random, table: Table) -> str:
    """Return `column = value` for one or two columns outside of the key."""
    chosen = rng.sample(table.plain, min(len(table.plain), rng.choice((1, 2))))
    return ", ".join(f"{column.sql} = {value(rng, column)}" for column in chosen)


def some(rng: random.Random, table: Table) -> str:
    """Return a condition that holds for a few rows."""
    column = rng.choice(table.key)
    operator = rng.choice(("=", "=", "<", ">"))
    return f"{column.sql} {operator} {column.kind.value(rng)}"


KEYED: tuple[tuple[RowStatement, int], ...] = (
    *((insert, 8), (replace, 4), (upsert, 4), (update, 6), (edit, 4)),
    *((delete, 2), (move, 3), (swap, 1), (shift, 1), (again, 2)),
)
"""Statements with their weights."""
KEYLESS: tuple[tuple[RowStatement, int], ...] = (
    *((insert, 6), (twice, 2), (update, 3), (edit, 2), (delete, 2)),
)


def rows(rng: random.Random, table: Table) -> list[str]:
    """Return any change of rows that suits the table."""
    kinds = KEYLESS if table.keyless else KEYED
    (chosen,) = rng.choices([kind for kind, _ in kinds], [weight for _, weight in kinds])
    return chosen(rng, table)
