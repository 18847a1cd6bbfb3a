"""Carrying out a batch on one table, or on several that are renamed: part by part, in order."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, field
from itertools import chain

from pyspark.sql import DataFrame, SparkSession

from pipeline.catalog.effects import TableName
from pipeline.catalog.items import TimelineItem
from pipeline.gold.cascade_store import Changes
from pipeline.gold.changes import Skipped, read_changes
from pipeline.gold.drift import Look, Watch
from pipeline.gold.facts import Facts
from pipeline.gold.few_changes import Few, few_of
from pipeline.gold.fold import shape_of
from pipeline.gold.gold_table import GoldTable, standing
from pipeline.gold.insert_defaults import left_out
from pipeline.gold.merge import Take, put
from pipeline.gold.names import gold_name
from pipeline.gold.parts import Evolve, Part, Rows, parts
from pipeline.gold.refusal import TableRefusedError
from pipeline.gold.renames import Step, change, in_order
from pipeline.gold.seeded import Seeding, take_seed
from pipeline.gold.state import TableState
from pipeline.gold.stops import Stop, stops
from pipeline.gold.write import Write
from pipeline.gold.xa import Prepared
from pipeline.interpreted import staying_active
from pipeline.settings import Settings

STEPS = 1_000_000
"""More than the numbers that a table's steps take in one batch."""
LAST = 1 << 62
"""Behind every position in a file."""
STEP_COMMITS = 8
"""More commits than a step has that Delta tells apart by a number: Delta skips a number that it has
seen, so no two commits may share one. A step's are batch * STEPS + step * STEP_COMMITS and on."""


@dataclass(frozen=True, slots=True)
class Batch:
    """What all tables of a batch have in common; `few`: its changes are.

    `refresh`: the batch that began the full refresh which it is of. `since_seeds`: what silver's
    transactions tell since the first seed of which a table gets the rows.
    """

    number: int
    drop_rows: bool
    skipped: Sequence[Skipped]
    prepared: Sequence[Prepared] = ()
    mark_faults: bool = False
    watch: Watch | None = None
    few: Few | None = None
    cascades: Changes = field(default_factory=dict)
    refresh: int = 0
    since_seeds: Facts | None = None


@dataclass(frozen=True, slots=True)
class Applied:
    """How many changes were applied, by table, and where tables stop that cannot go on."""

    changes: Mapping[TableName, int]
    stops: Sequence[Stop] = ()


def apply_tables(
    spark: SparkSession,
    settings: Settings,
    batch: Batch,
    states: Sequence[TableState],
    items: Mapping[TableName, Sequence[TimelineItem]],
) -> Applied:
    """Bring tables that renames tie together, or one, each to its `to_lsn`.

    All of them stop where changes of one cannot be applied. `items`: every table's timeline.
    """
    tables = {state.name: state for state in states}
    applied = dict.fromkeys(tables, 0)
    steps = [
        step
        for state in states
        for step in _steps(settings, batch, state, items.get(state.name, ()))
    ]
    ordered = in_order(steps)
    for n, group in enumerate(ordered):
        try:
            for step in group:
                if isinstance(step.part, Rows):
                    applied[step.name] += _apply_rows(
                        spark,
                        settings,
                        batch,
                        step.table,
                        tables[step.name],
                        step.part,
                        step.version,
                    )
                elif step.part.item.seed and batch.since_seeds:
                    state, timeline = tables[step.name], items.get(step.name, ())
                    seeding = Seeding(
                        step.table, state, step.part, step.version, timeline, batch.since_seeds
                    )
                    applied[step.name] += take_seed(spark, settings, seeding)
            evolving = [s for s in group if isinstance(s.part, Evolve) and not s.part.item.seed]
            if evolving:
                change(spark, evolving, drop_rows=batch.drop_rows)
        except TableRefusedError as error:
            # Only the steps of a RENAME stand together, which refuses nothing.
            refused = group[0].name
            done, left = chain(*ordered[:n]), chain(*ordered[n:])
            return Applied(applied, stops(list(done), list(left), refused, error.refusal))
    return Applied(applied)


def _steps(
    settings: Settings, batch: Batch, state: TableState, items: Sequence[TimelineItem]
) -> list[Step]:
    table = _gold_table(settings, state, batch.refresh)
    found = parts(state, items)
    return [
        Step(table, state.name, part, _number(batch, n), vouched=n > 0 and _whole(found[n - 1]))
        for n, part in enumerate(found)
    ]


def _whole(before: Part) -> bool:
    """Whether gold has the source's rows then, if that part is what comes right before."""
    return isinstance(before, Rows) and before.complete


def _number(batch: Batch, step: int) -> int:
    return batch.number * STEPS + step * STEP_COMMITS


def _gold_table(settings: Settings, state: TableState, refresh: int) -> GoldTable:
    return GoldTable(
        gold_name(settings, state.schema, state.table),
        settings.source,
        f"gold/{settings.source}/{state.schema}/{state.table}",
        settings.type_options,
        refresh,
    )


def _apply_rows(
    spark: SparkSession,
    settings: Settings,
    batch: Batch,
    table: GoldTable,
    state: TableState,
    part: Rows,
    version: int,
) -> int:
    if part.stop <= (state.to_lsn, LAST) and _applied(spark, table, part):
        return 0
    return put(
        spark,
        _taking(spark, settings, batch, state, part),
        shape_of(part.definition, part.key),
        Write(table.reference, table.app, version),
        left_out=left_out(
            part, settings.type_options, lenient=batch.mark_faults and not part.complete
        ),
        complete=part.complete,
        look=Look(batch.watch, str(state.name)) if batch.watch and part.complete else None,
        few=few_of(batch.few, part.definition),
    )


def _taking(
    spark: SparkSession, settings: Settings, batch: Batch, state: TableState, part: Rows
) -> Take:
    cascaded = batch.cascades.get((state.name, part.version))
    lake = settings.layout

    def take(session: SparkSession) -> DataFrame | None:
        skipped, prepared = batch.skipped, batch.prepared
        with nullcontext() if session is spark else staying_active(spark):
            return read_changes(session, lake, state.name, part, skipped, prepared, cascaded)

    return take


def _applied(spark: SparkSession, table: GoldTable, part: Rows) -> bool:
    """Whether a run that died has come over the change of the definition behind the rows.

    The table may have other columns by now, so that the rows could not even be looked at.
    """
    now = standing(spark, table.reference, table.refresh)
    return now is not None and now.is_of(table.source) and now.begun >= part.stop
