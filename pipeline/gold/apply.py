"""Carrying out one table's part of a batch: its parts in order, each a step of its own."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from pyspark.sql import SparkSession

from decoder.definition import TableDefinition
from pipeline.catalog.items import TimelineItem
from pipeline.gold.changes import Skipped, read_changes
from pipeline.gold.evolve import evolve
from pipeline.gold.fold import Shape
from pipeline.gold.gold_table import GoldTable
from pipeline.gold.merge import put
from pipeline.gold.names import gold_name
from pipeline.gold.parts import Evolve, Rows, parts
from pipeline.gold.state import TableState
from pipeline.gold.xa import Prepared
from pipeline.lake import Lake
from pipeline.settings import Settings

STEPS = 1_000_000
"""More than the numbers that a table's steps take in one batch."""
STEP_COMMITS = 8
"""More commits than a step has that Delta tells apart by a number: Delta skips a number that it has
seen, so no two commits may share one. A step's are batch * STEPS + step * STEP_COMMITS and on."""


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
        settings.type_options,
    )
    applied = 0
    for step, part in enumerate(parts(state, items)):
        version = batch.number * STEPS + step * STEP_COMMITS
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
    shape = shape_of(part.definition, part.key)
    return put(
        spark,
        changes,
        shape,
        table.reference,
        complete=part.complete,
        app=table.app,
        version=version,
    )


def shape_of(definition: TableDefinition, key: Sequence[str]) -> Shape:
    """The columns of a definition, with those of the key that may be NULL told."""
    nullable = {column.name for column in definition.columns if column.nullable}
    return Shape(
        tuple(column.name for column in definition.columns),
        tuple(key),
        frozenset(nullable.intersection(key).difference(definition.key)),
    )
