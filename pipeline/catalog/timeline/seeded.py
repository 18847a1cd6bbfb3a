"""A table that gets its rows from a seed: whether the log since then lets it, and the item for it.

What the log tells behind the seed is applied to the seed's rows. So it must tell of one table
throughout, with the seed's columns and key: where a statement has changed more than rows, only a
seed of behind that will do.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from decoder import TableDefinition, TypeOptions
from pipeline.catalog.alter.items import ItemKind, SeededFrom, TimelineItem
from pipeline.catalog.alter.versions import difference, fits
from pipeline.catalog.ddl.effects import CreateTable
from pipeline.catalog.ddl.model import TableModel
from pipeline.catalog.timeline.logged import LoggedStatement
from pipeline.catalog.timeline.naming import without_logical_types
from pipeline.catalog.timeline.tables import NO_NAMES, TableState, with_key

BEHIND_ALL = 1 << 62
"""A position behind every event of a transaction. Seeds at one transaction stand in their order."""
_EMPTYING: tuple[ItemKind, ...] = ("create", "truncate")
_ENDING: tuple[ItemKind, ...] = ("drop", "moved")
_BESIDE: tuple[ItemKind, ...] = ("temporary", "seeded", "schema")
"""Items that do nothing to the source's table."""
_STAYS: tuple[ItemKind, ...] = ("observed", "version", "declared")
"""Items at which the table stays what it is, unless a statement came with them."""
_SHOWN = 120
"""Letters of a statement that are told."""


CASCADES = (
    "It was seeded while others wrote, and what its foreign keys changed meanwhile is not in the"
    " log: seed it again while nobody writes."
)


class NotSeededError(ValueError):
    """A seed cannot be taken, and why: a clause."""


class UntoldTypesError(NotSeededError):
    """The lake has bytes of what the seed knows as a UUID, INET4, INET6 or VECTOR of MariaDB's."""


@dataclass(frozen=True, slots=True)
class Seed:
    """What a seed tells of its table: where its rows are from, and its CREATE TABLE as read.

    `all_logged`: no foreign key has changed rows behind it that the log does not tell of.
    """

    rows: SeededFrom
    effect: CreateTable
    model: TableModel | None = None
    all_logged: bool = True


def seeded(
    table: TableState,
    items: Sequence[TimelineItem],
    seed: Seed,
    at: LoggedStatement,
    types: TypeOptions,
) -> TimelineItem | None:
    """The item with which the table's rows are those of the seed; `items` are all of its own.

    None where the table has begun anew, and empty, since the seed: then the log tells all of it.
    `at` is where the item is put, with the CREATE TABLE. Raises NotSeededError.
    """
    behind = [item for item in items if item.lsn > seed.rows.lsn and item.kind not in _BESIDE]
    if any(item.kind in _EMPTYING for item in behind) and table.exists and not table.held:
        return None
    _require_unchanged(behind)
    shown = (*_until(items, seed.rows.lsn), *_definitions(behind))
    declared = _with_row_key(seed, shown)
    for definition in shown:
        _require_fit(declared, definition, types)
    version = table.versions.declared(declared)
    name = seed.effect.name
    earlier = sum(item.seed is not None and item.lsn == at.lsn for item in items)
    return TimelineItem(
        at.lsn,
        BEHIND_ALL + earlier,
        name.schema,
        name.table,
        "seeded",
        version=version,
        definition=table.versions.definitions.get(version, declared),
        statement=at.query,
        reason=None if seed.all_logged or not _cascades(seed.model) else CASCADES,
        model=seed.model,
        seed=seed.rows,
    )


def _with_row_key(seed: Seed, shown: Sequence[TableDefinition]) -> TableDefinition:
    """The seed's definition; without a PRIMARY KEY, with the key that the server logs in its place:
    a UNIQUE one of columns that are NOT NULL. What table maps have shown decides."""
    declared = seed.effect.definition
    if declared.primary_key or (shown and shown[-1].named and not shown[-1].primary_key):
        return declared
    return with_key(declared, seed.model.keys if seed.model else None)


def _cascades(model: TableModel | None) -> bool:
    return model is not None and any(key.cascades for key in model.foreign_keys)


def _require_unchanged(behind: Sequence[TimelineItem]) -> None:
    for item in behind:
        if item.statement is not None:
            text = " ".join(item.statement.split())
            shown = text if len(text) <= _SHOWN else f"{text[:_SHOWN]}…"
            raise NotSeededError(f"a statement has changed the table since: {shown}")
        if item.kind not in _STAYS:
            raise NotSeededError(f"the table has changed since: {item.reason or item.kind}")


def _until(items: Sequence[TimelineItem], lsn: int) -> list[TableDefinition]:
    """What the table was when the seed was taken, as far as the log told."""
    found: list[TableDefinition] = []
    for item in items:
        if item.lsn <= lsn and item.kind in _ENDING:
            found = []
        elif item.lsn <= lsn and item.definition is not None:
            found = [item.definition]
    return found


def _definitions(items: Sequence[TimelineItem]) -> list[TableDefinition]:
    return [item.definition for item in items if item.definition is not None]


def _require_fit(declared: TableDefinition, shown: TableDefinition, types: TypeOptions) -> None:
    if not shown.named:
        raise NotSeededError(f"rows of it are in the lake that cannot be told apart: {NO_NAMES}")
    if fits(declared, shown, types):
        return
    if fits(without_logical_types(declared), shown, types):
        raise UntoldTypesError(
            "its rows are in the lake with bytes for values of types that MariaDB's log does not"
            f" tell ({difference(shown, declared, types)}), and are to be decoded again with the"
            " seed's types: binlake decode --full-refresh"
        )
    raise NotSeededError(f"by the log it is another: {difference(shown, declared, types)}")
