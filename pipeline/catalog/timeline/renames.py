"""Which table has whose rows after one RENAME TABLE of several."""

from __future__ import annotations

from collections.abc import Iterable

from pipeline.catalog.ddl.effects import TableName


def permutation(
    pairs: Iterable[tuple[TableName, TableName]],
) -> tuple[dict[TableName, TableName], dict[TableName, TableName]]:
    """Pairs (old, new), from left to right, to what comes out.

    Gives for each name that has another table's rows whose they are, and for each name that no
    table has any more where its rows went.
    """
    origin: dict[TableName, TableName] = {}
    gone: set[TableName] = set()
    for old, new in pairs:
        origin[new] = origin.pop(old, old)
        gone.add(old)
        gone.discard(new)
    there = {name: source for name, source in origin.items() if name != source}
    by_source = {source: name for name, source in there.items()}
    moved = {name: by_source[name] for name in gone if name in by_source}
    return there, moved
