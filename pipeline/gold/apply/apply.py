"""Carrying out a batch on one table, or on several that are renamed: part by part, in order."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, field, replace
from itertools import chain

from pyspark.sql import SparkSession

from pipeline.catalog import TableName
from pipeline.catalog.alter.items import TimelineItem
from pipeline.gold.apply.merge import Take, put
from pipeline.gold.apply.seed_rows import Seeding, take_seed
from pipeline.gold.cascades.store import Changes
from pipeline.gold.changes.changes import Skipped, Taken, read_changes
from pipeline.gold.changes.drift import Look, Watch
from pipeline.gold.changes.fold import shape_of
from pipeline.gold.changes.log_facts import Facts
from pipeline.gold.changes.small_batch import Few, few_of, rows_here
from pipeline.gold.changes.steps import Evolve, Part, Rows, parts
from pipeline.gold.changes.xa import Prepared
from pipeline.gold.plan.stopped_tables import Stop, stops
from pipeline.gold.plan.table_refresh import make_ready
from pipeline.gold.schema.insert_defaults import left_out
from pipeline.gold.schema.renames import Step, change, in_order
from pipeline.gold.table.damage import REFUSED, Damage, met_in
from pipeline.gold.table.gold_table import GoldTable, standing
from pipeline.gold.table.names import gold_name
from pipeline.gold.table.refusal import Refusal, TableRefusedError
from pipeline.gold.table.state import TableState
from pipeline.gold.table.write import Write
from pipeline.lake.delta_log.spark_written import version_of
from pipeline.lake.small_jobs import staying_active
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
            at_fault, why = _told(error, group)
            done, left = chain(*ordered[:n]), chain(*ordered[n:])
            return Applied(applied, stops(list(done), list(left), at_fault, why))
    return Applied(applied)


@dataclass(frozen=True, slots=True)
class _Carrier:
    """Carries out steps of tables that renames tie together, or of one."""

    spark: SparkSession
    settings: Settings
    batch: Batch
    tables: Mapping[TableName, TableState]
    items: Mapping[TableName, Sequence[TimelineItem]]
    ready: set[TableName] = field(default_factory=set)

    def carry_out(self, group: Sequence[Step]) -> list[tuple[TableName, int]]:
        """Do steps that stand together; how many changes of which tables were applied.

        What fails is tried once more: of runs at the same step at once, one may have brought the
        table past it. Raises TableRefusedError where changes cannot be applied.
        """
        try:
            return self._once(group)
        except TableRefusedError:
            raise
        except Exception as error:
            if _told(error, group):
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
        """Before the first step of a table that is made again by itself."""
        for step in group:
            if step.name not in self.ready and self.tables[step.name].refresh == self.batch.number:
                make_ready(self.spark, self.settings, step.table, step.name, self.batch.number)
            self.ready.add(step.name)

    def _rows(self, step: Step) -> int:
        """Rows of the log, or of a seed with what the log says of them since."""
        state, part = self.tables[step.name], step.part
        if isinstance(part, Rows):
            return _apply_rows(
                self.spark, self.settings, self.batch, step.table, state, part, step.version
            )
        if not part.item.seed or self.batch.since_seeds is None:
            return 0
        timeline = self.items.get(step.name, ())
        seeding = Seeding(step.table, state, part, step.version, timeline, self.batch.since_seeds)
        return take_seed(self.spark, self.settings, seeding)


def _told(error: Exception, group: Sequence[Step]) -> tuple[TableName, Refusal | Damage]:
    """Which table of a group an error is of, and what it tells of it.

    Raises the error again where it is no table's own.
    """
    if isinstance(error, TableRefusedError):
        # Only the steps of a RENAME stand together, which refuses nothing.
        return group[0].name, error.refusal
    text = str(error)
    step = next((one for one in group if one.table.reference in text), group[0])
    damage = met_in(error, step.table.reference, version_of(step.table.reference))
    if damage is None:
        raise error
    if isinstance(step.part, Rows) and not step.part.key:
        # To apply changes twice would count rows twice, and the next batch has another number.
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
    skipped, prepared = batch.skipped, batch.prepared

    def take(session: SparkSession) -> Taken | None:
        here = rows_here(spark, lake, part, settings.type_options) if batch.few else None
        with nullcontext() if session is spark else staying_active(spark):
            return read_changes(session, lake, state.name, part, skipped, prepared, cascaded, here)

    return take


def _applied(spark: SparkSession, table: GoldTable, part: Rows) -> bool:
    """Whether a run that died has come over the change of the definition behind the rows.

    The table may have other columns by now, so that the rows could not even be looked at.
    """
    now = standing(spark, table.reference, table.refresh)
    return now is not None and now.is_of(table.source) and now.begun >= part.stop
