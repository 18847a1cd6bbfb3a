"""Apply a batch to one table, or to several connected by RENAMEs: part by part, in log order."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, field, replace
from itertools import chain

from pyspark.sql import SparkSession

from pipeline.catalog import TableName
from pipeline.catalog.alter.items import TimelineItem
from pipeline.gold.apply.merge import Take, put
from pipeline.gold.apply.seed_rows import Seeding, load_seed
from pipeline.gold.cascades.store import Changes
from pipeline.gold.changes.changes import Skipped, Taken, read_changes
from pipeline.gold.changes.drift import Look, Watch
from pipeline.gold.changes.fold import shape_of
from pipeline.gold.changes.log_facts import Facts
from pipeline.gold.changes.small_batch import Few, few_of, rows_here
from pipeline.gold.changes.steps import Evolve, Part, Rows, parts
from pipeline.gold.changes.xa import Prepared
from pipeline.gold.plan.stopped_tables import Stop, stops
from pipeline.gold.plan.table_refresh import prepare_place
from pipeline.gold.schema.insert_defaults import left_out
from pipeline.gold.schema.renames import Step, change, in_order
from pipeline.gold.table.damage import REFUSED, Damage, damage_in
from pipeline.gold.table.gold_table import GoldTable, table_progress
from pipeline.gold.table.names import gold_name
from pipeline.gold.table.refusal import Refusal, TableRefusedError
from pipeline.gold.table.state import TableState
from pipeline.gold.table.write import Write
from pipeline.lake.child_sessions import staying_active
from pipeline.lake.delta_log.spark_written import version_of
from pipeline.settings import Settings

STEPS = 1_000_000
"""More than the number of transaction versions that a table's steps use in one batch."""
LAST = 1 << 62
"""After every position in a file."""
STEP_COMMITS = 8
"""More than the number of versioned commits of one step. Delta skips a version that it has seen, so
no two commits may share one. A step uses batch * STEPS + step * STEP_COMMITS and following."""


@dataclass(frozen=True, slots=True)
class Batch:
    """What all tables of a batch have in common; `few` is set if it has few changes.

    `refresh`: the batch that began the full refresh to which this one belongs. `since_seeds`: facts
    of silver's transactions since the first seed whose rows are loaded in the batch.
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
    """Number of changes applied, by table, and where tables stopped."""

    changes: Mapping[TableName, int]
    stops: Sequence[Stop] = ()


def apply_tables(
    spark: SparkSession,
    settings: Settings,
    batch: Batch,
    states: Sequence[TableState],
    items: Mapping[TableName, Sequence[TimelineItem]],
) -> Applied:
    """Bring one table, or several connected by RENAMEs, to their `to_lsn`.

    All of them stop if the changes of one cannot be applied. `items`: every table's timeline.
    """
    tables = {state.name: state for state in states}
    carrier = _Carrier(spark, settings, batch, tables, items)
    applied = dict.fromkeys(tables, 0)
    steps = [
        step
        for state in states
        for step in _steps(settings, batch, state, items.get(state.name, ()))
    ]
    ordered = in_order(steps)
    for n, group in enumerate(ordered):
        try:
            for name, count in carrier.carry_out(group):
                applied[name] += count
        except Exception as error:
            at_fault, why = _stopped_by(error, group)
            done, left = chain(*ordered[:n]), chain(*ordered[n:])
            return Applied(applied, stops(list(done), list(left), at_fault, why))
    return Applied(applied)


@dataclass(frozen=True, slots=True)
class _Carrier:
    """Carries out the steps of one table, or of several connected by RENAMEs."""

    spark: SparkSession
    settings: Settings
    batch: Batch
    tables: Mapping[TableName, TableState]
    items: Mapping[TableName, Sequence[TimelineItem]]
    ready: set[TableName] = field(default_factory=set)

    def carry_out(self, group: Sequence[Step]) -> list[tuple[TableName, int]]:
        """Carry out a group of steps; return how many changes were applied to which tables.

        A failed group is retried once: of concurrent runs at the same step, one may have completed
        it. Raise TableRefusedError if changes cannot be applied.
        """
        try:
            return self._once(group)
        except TableRefusedError:
            raise
        except Exception as error:
            if _stopped_by(error, group):
                return self._once(group)
            raise

    def _once(self, group: Sequence[Step]) -> list[tuple[TableName, int]]:
        self._make_ready(group)
        counts = [(step.name, self._rows(step)) for step in group]
        evolving = [s for s in group if isinstance(s.part, Evolve) and not s.part.item.seed]
        if evolving:
            change(self.spark, evolving, drop_rows=self.batch.drop_rows)
        return counts

    def _make_ready(self, group: Sequence[Step]) -> None:
        """Prepare tables that are refreshed on their own, before their first step."""
        for step in group:
            if step.name not in self.ready and self.tables[step.name].refresh == self.batch.number:
                prepare_place(self.spark, self.settings, step.table, step.name, self.batch.number)
            self.ready.add(step.name)

    def _rows(self, step: Step) -> int:
        """Apply rows of the log, or of a seed with the changes in the log since."""
        state, part = self.tables[step.name], step.part
        if isinstance(part, Rows):
            return _apply_rows(
                self.spark, self.settings, self.batch, step.table, state, part, step.version
            )
        if not part.item.seed or self.batch.since_seeds is None:
            return 0
        timeline = self.items.get(step.name, ())
        seeding = Seeding(step.table, state, part, step.version, timeline, self.batch.since_seeds)
        return load_seed(self.spark, self.settings, seeding)


def _stopped_by(error: Exception, group: Sequence[Step]) -> tuple[TableName, Refusal | Damage]:
    """Return the table of a group to which an error belongs, and why it stops.

    Raise the error again if it does not belong to a table.
    """
    if isinstance(error, TableRefusedError):
        # Only steps of a RENAME form a group, and they refuse nothing.
        return group[0].name, error.refusal
    text = str(error)
    step = next((one for one in group if one.table.reference in text), group[0])
    damage = damage_in(error, step.table.reference, version_of(step.table.reference))
    if damage is None:
        raise error
    if isinstance(step.part, Rows) and not step.part.key:
        # The next batch has another number: applying changes twice would add rows twice.
        if damage.passes and not REFUSED.search(f"{type(error).__name__}: {text}"):
            raise error
        damage = replace(damage, final=True)
    return step.name, damage


def _steps(
    settings: Settings, batch: Batch, state: TableState, items: Sequence[TimelineItem]
) -> list[Step]:
    table = _gold_table(settings, state, max(batch.refresh, state.refresh))
    found = parts(state, items)
    return [
        Step(table, state.name, part, _number(batch, n), vouched=n > 0 and _whole(found[n - 1]))
        for n, part in enumerate(found)
    ]


def _whole(before: Part) -> bool:
    """Return True if gold has exactly the source's rows after `before`, the preceding part."""
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
    skipped, prepared = batch.skipped, batch.prepared

    def take(session: SparkSession) -> Taken | None:
        here = rows_here(spark, lake, part, settings.type_options) if batch.few else None
        with nullcontext() if session is spark else staying_active(spark):
            return read_changes(session, lake, state.name, part, skipped, prepared, cascaded, here)

    return take


def _applied(spark: SparkSession, table: GoldTable, part: Rows) -> bool:
    """Return True if an earlier run has already passed the definition change after these rows.

    The table may have other columns by now, so the rows could not even be read.
    """
    now = table_progress(spark, table.reference, table.refresh)
    return now is not None and now.is_of(table.source) and now.begun >= part.stop
