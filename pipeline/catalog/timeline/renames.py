"""Resolve a RENAME TABLE of several tables: which name has whose rows afterwards."""

from __future__ import annotations

from collections.abc import Iterable

from pipeline.catalog.ddl.effects import TableName


def permutation(
    pairs: Iterable[tuple[TableName, TableName]],
) -> tuple[dict[TableName, TableName], dict[TableName, TableName]]:
    """Apply pairs (old, new) from left to right.

    Return a mapping from each name that has another table's rows to that table, and one from each
    name that no longer exists to the name where its rows went.
    """
    origin: dict[TableName, TableName] = {}
    gone: set[TableName] = set()
    for old, new in pairs:
        origin[new] = origin.pop(old, old)
        gone.add(old)
        gone.discard(new)
    renamed = {name: source for name, source in origin.items() if name != source}
    by_source = {source: name for name, source in renamed.items()}
    moved = {name: by_source[name] for name in gone if name in by_source}
    return renamed, moved
