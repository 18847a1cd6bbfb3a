"""Full refresh of single tables: each is rebuilt from silver in one batch, along with new changes.

Where Delta allows it, in place: a commit empties the table, it is filled as in any full refresh,
and published snapshots stay readable. A table whose Delta log is damaged, or that another program
wrote, is moved to `LAKE/gold/_damaged` unchanged, and a new one takes its place.
"""

from __future__ import annotations

import uuid
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from fnmatch import fnmatchcase
from functools import partial
from typing import TypeVar

from pyspark.sql import SparkSession

from pipeline.errors import BinlakeError, SettingsError
from pipeline.gold.local.table import empty_without_spark
from pipeline.gold.schema.renames import connected_groups
from pipeline.gold.table.damage import Damage, damage_in
from pipeline.gold.table.gold_table import GoldTable, Write, table_progress
from pipeline.gold.table.state import NO_LSN, GoldState, TableState
from pipeline.gold.table.table_metadata import properties_clause
from pipeline.lake import delta, stores
from pipeline.lake.delta_step import Step
from pipeline.lake.ledger.history_removed import Removed, removed
from pipeline.lake.sql_text import in_sql, is_name, quoted
from pipeline.layer import LayerRun
from pipeline.schema_history import TableName
from pipeline.schema_history.alter.items import TimelineItem
from pipeline.settings import Settings
from pipeline.silver.full_refresh import RefreshRefusedError, require_no_maintenance
from pipeline.silver.plan.stored_seeds import read_seed

T = TypeVar("T")

BEING_REBUILT = "It is being rebuilt from silver."
_BEGINNINGS = ("create", "seeded", "renamed")
"""Items after which earlier ones do not matter, except the other table's rows for a RENAME."""
_APPEND_ONLY = "delta.appendOnly"
_CONSTRAINT = "delta.constraints."
"""Prefix of the property of a CHECK constraint."""


def named(settings: Settings, state: GoldState) -> set[TableName]:
    """Return gold's tables that match the patterns of `--table`.

    Raise SettingsError for a pattern that matches none.
    """
    wanted = [name for name in state.tables if settings.wanted(name.schema, name.table)]
    found: set[TableName] = set()
    for pattern in settings.refresh_tables:
        own = {name for name in wanted if fnmatchcase(str(name), pattern)}
        if not own:
            raise SettingsError(
                f"{pattern} matches no gold table of source {settings.source}.",
                key="--table",
                remedy="binlake status lists them.",
            )
        found |= own
    return found


def tables_to_refresh(
    run: LayerRun,
    state: GoldState,
    asked: Collection[TableName],
    damaged: Collection[TableName],
    items: Sequence[TimelineItem],
    upto: int,
) -> set[TableName]:
    """Return the tables that a batch up to `upto` rebuilds: those requested, and damaged ones that
    were seeded since.

    Raise RefreshRefusedError if silver no longer has all changes of a requested table.
    """
    gone = removed(run.ledger)
    if asked and gone.lsn:
        require_no_maintenance(run.ledger)
    found = _with_connected(asked, state, items)
    for name, why in _lacking(run, found, items, gone):
        raise RefreshRefusedError(
            f"{name} cannot be rebuilt from silver: {why}.",
            remedy=f"Seed it again (binlake seed --table {name}), then run binlake run. Nothing was"
            " changed.",
        )
    for name in _seeded_since(state, damaged, items, upto) - found:
        group = _with_connected([name], state, items)
        if not any(_lacking(run, group, items, gone)):
            found |= group
    return found


def _seeded_since(
    state: GoldState, damaged: Collection[TableName], items: Iterable[TimelineItem], upto: int
) -> set[TableName]:
    seeds = {item.name: item.seed.id for item in items if item.seed and item.lsn <= upto}
    return {name for name in damaged if seeds.get(name, "") not in ("", state.tables[name].seed)}


def _with_connected(
    names: Collection[TableName], state: GoldState, items: Iterable[TimelineItem]
) -> set[TableName]:
    """Return these tables and all that exchanged rows with them in a RENAME."""
    pairs = [(item.name, item.other) for item in items if item.other is not None]
    groups = connected_groups(list(state.tables), pairs)
    return {name for group in groups if not set(names).isdisjoint(group) for name in group}


def _lacking(
    run: LayerRun, names: Collection[TableName], items: Iterable[TimelineItem], gone: Removed
) -> Iterator[tuple[TableName, str]]:
    """Yield the tables that silver no longer has completely, and the reason for each."""
    begins: dict[TableName, TimelineItem | None] = {}
    for item in items:
        begins.setdefault(item.name, None)
        if item.kind in _BEGINNINGS:
            begins[item.name] = item
    for name in sorted(names):
        if name not in begins:
            yield name, "silver has no record of it"
        elif why := _lacks(run, begins[name], gone):
            yield name, why


def _lacks(run: LayerRun, begin: TimelineItem | None, gone: Removed) -> str | None:
    """Return why a table's history is incomplete from `begin` on, or None."""
    seed = begin.seed if begin else None
    if seed and read_seed(run.lake, run.source, seed.id) is None:
        return f"the rows of its initial snapshot {seed.id} are gone from the lake"
    first = NO_LSN if begin is None else seed.lsn + 1 if seed else begin.lsn
    return gone.sentence if first < gone.lsn else None


def with_reset(state: GoldState, names: Collection[TableName], batch: int) -> GoldState:
    """Return gold's state with these tables reset, to be rebuilt by that batch."""
    tables = {
        name: TableState(
            table.schema, table.table, held=BEING_REBUILT, reason=BEING_REBUILT, refresh=batch
        )
        if name in names
        else table
        for name, table in state.tables.items()
    }
    return replace(state, tables=tables)


def refreshed_in(state: GoldState, batch: int) -> set[TableName]:
    """Return the tables that a batch rebuilds."""
    return {name for name, table in state.tables.items() if batch and table.refresh == batch}


def without(found: Mapping[TableName, T], names: Collection[TableName]) -> dict[TableName, T]:
    """Return the entries of all other tables."""
    return {name: one for name, one in found.items() if name not in names}


def prepare_place(run: LayerRun, table: GoldTable, name: TableName, batch: int) -> None:
    """Leave at the table's place either nothing or an empty, writable table of the source.

    Raise BinlakeError if that needs manual action.
    """
    spark = run.session
    try:
        if _is_ready(spark, table) or _emptied(spark, table, batch):
            return
        why: Damage | None = None
    except Exception as error:
        why = damage_in(error, table.reference, None)
        if why is None:
            raise
    if is_name(table.reference):
        raise BinlakeError(
            f"{table.reference} cannot be emptied{f': {why.reason}' if why else ''}.",
            remedy=f"Remove it with DROP TABLE, then refresh {name} again.",
        )
    _move_away(run, table, name, batch)


def _is_ready(spark: SparkSession, table: GoldTable) -> bool:
    """Return True if there is no table, or another run has already started to fill it."""
    now = table_progress(spark, table.reference, table.refresh)
    if now is None:
        return not _path_exists(table.reference)
    return now.is_of(table.source) and now.begun > (0, 0)


def _path_exists(reference: str) -> bool:
    """Return True if a path exists, as far as this process can see it."""
    try:
        return not is_name(reference) and stores.exists(reference)
    except Exception:  # each store's client raises its own errors, and Spark may have access
        return False


def _emptied(spark: SparkSession, table: GoldTable, batch: int) -> bool:
    """Empty the table in place and remove properties that prevent writes.

    Return False if it is not a table of the source.
    """
    now = table_progress(spark, table.reference, table.refresh)
    if now is None or not now.is_of(table.source):
        return False
    reference = in_sql(table.reference)
    hindering = [prop for prop in now.properties if prop.startswith(_CONSTRAINT)]
    statements = [
        f"ALTER TABLE {reference} DROP CONSTRAINT IF EXISTS {quoted(prop[len(_CONSTRAINT) :])}"
        for prop in hindering
    ]
    if now.properties.get(_APPEND_ONLY, "false").lower() != "false":
        clause = properties_clause({_APPEND_ONLY: "false"})
        statements.append(f"ALTER TABLE {reference} {clause}")
    step = _step(table, batch)
    for statement in statements:
        delta.commit(partial(spark.sql, statement), table.reference, step)
    if not empty_without_spark(spark, Write(table.reference, step)):
        empty = spark.createDataFrame([], delta.read(spark, table.reference).schema)
        delta.overwrite_once(empty, table.reference, step)
    return True


def _move_away(run: LayerRun, table: GoldTable, name: TableName, batch: int) -> None:
    """Move the table aside, unless another run has created a new one there meanwhile."""
    place = run.lake.damaged(name.schema, name.table, f"{batch}-{uuid.uuid4().hex[:8]}")

    def move() -> None:
        try:
            begun = _is_ready(run.session, table)
        except Exception as error:
            if damage_in(error, table.reference, None) is None:
                raise
            begun = False
        if not begun:
            stores.move(table.reference, place)

    delta.commit(move, table.reference, _step(table, batch))


def _step(table: GoldTable, batch: int) -> Step:
    return Step(f"{table.app}/refresh", batch)
