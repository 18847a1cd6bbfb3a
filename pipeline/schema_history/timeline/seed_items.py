"""Create the item that takes a table's rows from a seed, if the log since then allows it.

Later changes in the log are applied to the seed's rows. So they must be of the same table, with the
seed's columns and key: if a statement has changed more than rows, only a later seed will do.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from decoder import TableDefinition, TypeOptions
from pipeline.schema_history.alter.items import ItemKind, SeededFrom, TimelineItem
from pipeline.schema_history.alter.layout_versions import difference, fits
from pipeline.schema_history.ddl.effects import CreateTable
from pipeline.schema_history.ddl.model import TableModel
from pipeline.schema_history.timeline.column_names import without_logical_types
from pipeline.schema_history.timeline.logged_statement import LoggedStatement
from pipeline.schema_history.timeline.tables import NO_NAMES, TimelineTable, with_key

AFTER_ALL_EVENTS = 1 << 62
"""A position after every event of a transaction; seeds at one transaction are numbered from it."""
_EMPTYING: tuple[ItemKind, ...] = ("create", "truncate")
_ENDING: tuple[ItemKind, ...] = ("drop", "moved")
_BESIDE: tuple[ItemKind, ...] = ("temporary", "seeded", "schema")
"""Kinds of items that do not affect the source's table."""
_STAYS: tuple[ItemKind, ...] = ("observed", "version", "declared")
"""Kinds of items at which the table stays the same, unless they have a statement."""
_STATEMENT_LENGTH = 120
"""The most characters of a statement in a message."""


CASCADES = (
    "It was seeded during concurrent writes, and changes made by its foreign keys meanwhile are not"
    " in the log: seed it again while no one writes."
)


class NotSeededError(ValueError):
    """A seed cannot be used; the message is a clause with the reason."""


class UnloggedTypesError(NotSeededError):
    """The lake has bytes where the seed has MariaDB's UUID, INET4, INET6 or VECTOR."""


@dataclass(frozen=True, slots=True)
class SeededTable:
    """A seed of a table: where its rows come from, and its parsed CREATE TABLE.

    `all_logged`: no foreign key has since changed rows without logging them.
    """

    rows: SeededFrom
    effect: CreateTable
    model: TableModel
    all_logged: bool


def seeded(
    table: TimelineTable,
    items: Sequence[TimelineItem],
    seed: SeededTable,
    at: LoggedStatement,
    types: TypeOptions,
) -> TimelineItem | None:
    """Return the item that makes the seed's rows the table's; `items` are all of the table's items.

    None if the table was created again or emptied since the seed: then the log has all of its rows.
    `at` is the position of the item, with the CREATE TABLE. Raises NotSeededError.
    """
    later = [item for item in items if item.lsn > seed.rows.lsn and item.kind not in _BESIDE]
    if any(item.kind in _EMPTYING for item in later) and table.exists and not table.held:
        return None
    _require_unchanged(later)
    since = [item.definition for item in later if item.definition is not None]
    shown = (*_until(items, seed.rows.lsn), *since)
    declared = _with_row_key(seed, shown)
    for definition in shown:
        _require_fit(declared, definition, types)
    version = table.versions.declared(declared)
    name = seed.effect.name
    cascades = any(key.cascades for key in seed.model.foreign_keys)
    earlier = sum(item.seed is not None and item.lsn == at.lsn for item in items)
    return TimelineItem(
        at.lsn,
        AFTER_ALL_EVENTS + earlier,
        name.schema,
        name.table,
        "seeded",
        version=version,
        definition=table.versions.definitions.get(version, declared),
        statement=at.query,
        reason=None if seed.all_logged or not cascades else CASCADES,
        model=seed.model,
        seed=seed.rows,
    )


def _with_row_key(seed: SeededTable, shown: Sequence[TableDefinition]) -> TableDefinition:
    """Return the seed's definition with the key that the server logs.

    Without a PRIMARY KEY that is a UNIQUE key of NOT NULL columns; table maps take precedence.
    """
    declared = seed.effect.definition
    if declared.primary_key or (shown and shown[-1].named and not shown[-1].primary_key):
        return declared
    return with_key(declared, seed.model.keys)


def _require_unchanged(later: Sequence[TimelineItem]) -> None:
    for item in later:
        if item.statement is not None:
            text = " ".join(item.statement.split())
            shown = text if len(text) <= _STATEMENT_LENGTH else f"{text[:_STATEMENT_LENGTH]}…"
            raise NotSeededError(
                f"a statement has changed the table since the initial snapshot: {shown}"
            )
        if item.kind not in _STAYS:
            reason = item.reason or item.kind
            raise NotSeededError(f"the table has changed since the initial snapshot: {reason}")


def _until(items: Sequence[TimelineItem], lsn: int) -> list[TableDefinition]:
    """Return the table's definition when the seed was taken, as far as the log shows it."""
    found: list[TableDefinition] = []
    for item in items:
        if item.lsn <= lsn and item.kind in _ENDING:
            found = []
        elif item.lsn <= lsn and item.definition is not None:
            found = [item.definition]
    return found


def _require_fit(declared: TableDefinition, shown: TableDefinition, types: TypeOptions) -> None:
    if not shown.named:
        raise NotSeededError(f"the lake has rows of it without column names: {NO_NAMES}")
    if fits(declared, shown, types):
        return
    if fits(without_logical_types(declared), shown, types):
        raise UnloggedTypesError(
            "the lake has bytes for values of types that MariaDB's log does not record"
            f" ({difference(shown, declared, types)}). Decode its rows again with the"
            " snapshot's types: binlake decode --full-refresh"
        )
    raise NotSeededError(f"its definition in the log differs: {difference(shown, declared, types)}")
