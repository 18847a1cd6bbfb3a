"""Carrying out one table's part of a batch: its parts in order, each a step of its own."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from pyspark.sql import SparkSession

from decoder.definition import TableDefinition
from pipeline.catalog.items import TimelineItem
from pipeline.gold.changes import Skipped, read_changes
from pipeline.gold.evolve import GoldTable, evolve
from pipeline.gold.fold import Shape
from pipeline.gold.merge import put
from pipeline.gold.names import gold_name
from pipeline.gold.parts import Evolve, Rows, parts
from pipeline.gold.state import TableState
from pipeline.gold.xa import Prepared
from pipeline.lake import Lake
from pipeline.settings import Settings

STEPS = 1_000_000
"""More than a table can have steps in one batch: a step's number is batch * STEPS + step."""


@dataclass(frozen=True, slots=True)
class Batch:
    """What all tables of a batch have in common."""

    number: int
    drop_rows: bool
    skipped: Sequence[Skipped]
    prepared: Sequence[Prepared] = ()


def apply_table(
    spark: SparkSession,
    settings: Settings,
    batch: Batch,
    state: TableState,
    items: Sequence[TimelineItem],
) -> int:
    """Bring one table to `state.to_lsn`; how many changes that were. `items`: its timeline."""
    table = GoldTable(
        gold_name(settings, state.schema, state.table),
        settings.source,
        f"gold/{settings.source}/{state.schema}/{state.table}",
        state.key,
        settings.type_options,
    )
    applied = 0
    for step, part in enumerate(parts(state, items)):
        version = batch.number * STEPS + step
        if isinstance(part, Evolve):
            evolve(spark, table, part, version, drop_rows=batch.drop_rows)
        else:
            applied += _apply_rows(spark, settings, batch, table, state, part, version)
    return applied


def _apply_rows(
    spark: SparkSession,
    settings: Settings,
    batch: Batch,
    table: GoldTable,
    state: TableState,
    part: Rows,
    version: int,
) -> int:
    lake = Lake(settings.lake)
    changes = read_changes(spark, lake, state.name, part, batch.skipped, batch.prepared)
    if changes is None:
        return 0
    shape = shape_of(part.definition, table.key)
    return put(
        spark,
        changes,
        shape,
        table.reference,
        complete=state.complete,
        app=table.app,
        version=version,
    )


def shape_of(definition: TableDefinition, key: Sequence[str]) -> Shape:
    """The columns of a definition, with those of the key that may be NULL told."""
    nullable = {column.name for column in definition.columns if column.nullable}
    return Shape(
        tuple(column.name for column in definition.columns),
        tuple(key),
        frozenset(nullable.intersection(key) - _primary(definition)),
    )


def _primary(definition: TableDefinition) -> set[str]:
    return {definition.columns[i].name for i in definition.primary_key}
