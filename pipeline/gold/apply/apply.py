"""Apply a batch to one table, or to several connected by RENAMEs: part by part, in log order."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, field, replace
from itertools import chain

import pyarrow as pa
from pyspark.sql import SparkSession

from pipeline.gold.apply.merge import Take, apply_few, apply_part
from pipeline.gold.apply.seed_rows import Seeding
from pipeline.gold.cascades.cascades_table import CascadedChanges
from pipeline.gold.changes.changes import PartChanges, decided, read_changes
from pipeline.gold.changes.drift import DriftCheck, DriftSample
from pipeline.gold.changes.fold import shape_of
from pipeline.gold.changes.log_facts import Facts
from pipeline.gold.changes.small_batch import Few, changes_here, few_of
from pipeline.gold.changes.steps import Evolve, Rows, parts
from pipeline.gold.plan.stopped_tables import StoppedTable, stops
from pipeline.gold.plan.table_refresh import prepare_place
from pipeline.gold.schema.renames import TableStep, change, in_order
from pipeline.gold.schema.unlogged import left_out
from pipeline.gold.table.damage import REFUSED, Damage, damage_in
from pipeline.gold.table.gold_table import GoldTable, table_progress
from pipeline.gold.table.names import gold_name
from pipeline.gold.table.options import TableOptions
from pipeline.gold.table.state import GoldState, Refusal, TableRefusedError, TableState
from pipeline.lake.child_sessions import staying_active
from pipeline.lake.delta_log.spark_written import version_of
from pipeline.lake.lazy_spark import Spark, SparkNeededError
from pipeline.layer import LayerRun
from pipeline.schema_history import TableName
from pipeline.schema_history.alter.items import TimelineItem

STEPS = 1_000_000
"""More than the number of transaction versions that a table's steps use in one batch."""
LAST = 1 << 62
"""After every position in a file."""
STEP_COMMITS = 8
"""More than the number of versioned commits of one step. Delta skips a version that it has seen, so
no two commits may share one. A step uses batch * STEPS + step * STEP_COMMITS and following."""


@dataclass(frozen=True, slots=True)
class GoldBatch:
    """The context that all tables of a batch share; `state` is gold's after it.

    `touched`: the tables with changes to apply; `items`: every table's timeline; `facts`: of
    silver's transactions in the batch; `since_seeds`: of those since the first seed whose rows it
    loads. `few` is set if it has few changes.
    """

    run: LayerRun
    number: int
    state: GoldState
    touched: Sequence[TableState]
    items: Mapping[TableName, Sequence[TimelineItem]]
    facts: Facts
    since_seeds: Facts
    cascades: CascadedChanges
    drift_sample: DriftSample | None
    few: Few | None


def apply_tables(
    batch: GoldBatch, states: Sequence[TableState]
) -> tuple[Mapping[TableName, int], Sequence[StoppedTable]]:
    """Bring one table, or several connected by RENAMEs, to their `to_lsn`.

    Return the number of changes applied, by table, and where tables stopped: all of them if the
    changes of one cannot be applied. Raise SparkNeededError if they need Spark, and `batch` has one
    that is not to be started.
    """
    carrier = _Carrier(batch, {state.name: state for state in states})
    applied = dict.fromkeys(carrier.tables, 0)
    ordered = in_order([step for state in states for step in carrier.steps(state)])
    for n, group in enumerate(ordered):
        try:
            for name, count in carrier.carry_out(group):
                applied[name] += count
        except SparkNeededError:
            raise
        except Exception as error:
            at_fault, why = _stopped_by(error, group)
            done, left = chain(*ordered[:n]), chain(*ordered[n:])
            return applied, stops(list(done), list(left), at_fault, why)
    return applied, ()


@dataclass(frozen=True, slots=True)
class _Carrier:
    """Executor of the steps of one table, or of several connected by RENAMEs."""

    batch: GoldBatch
    tables: Mapping[TableName, TableState]
    ready: set[TableName] = field(default_factory=set)

    def steps(self, state: TableState) -> list[TableStep]:
        """Return a table's steps."""
        batch, settings = self.batch, self.batch.run.settings
        table = GoldTable(
            gold_name(settings, state.schema, state.table),
            settings.source,
            f"gold/{settings.source}/{state.schema}/{state.table}",
            settings.type_options,
            max(batch.state.rebuild.batch, state.refresh),
            TableOptions.of(settings.gold, str(state.name)),
        )
        first = batch.number * STEPS
        found = parts(state, batch.items.get(state.name, ()))
        return [
            # Gold has exactly the source's rows after a part of which no change is missing.
            TableStep(
                table,
                state.name,
                part,
                first + n * STEP_COMMITS,
                vouched=isinstance(before, Rows) and before.complete,
            )
            for n, (before, part) in enumerate(zip([None, *found], found, strict=False))
        ]

    def carry_out(self, group: Sequence[TableStep]) -> list[tuple[TableName, int]]:
        """Carry out a group of steps; return the number of changes applied to each table.

        A failed group is retried once: of concurrent runs at the same step, one may have completed
        it. Raise TableRefusedError if changes cannot be applied.
        """
        try:
            return self._once(group)
        except (TableRefusedError, SparkNeededError):
            raise
        except Exception as error:
            if _stopped_by(error, group):
                return self._once(group)
            raise

    def _once(self, group: Sequence[TableStep]) -> list[tuple[TableName, int]]:
        self._make_ready(group)
        counts = [(step.name, self._rows(step)) for step in group]
        evolving = [s for s in group if isinstance(s.part, Evolve) and not s.part.item.seed]
        if evolving:
            change(self.batch.run.spark, evolving, drop_rows=self.batch.state.drop_rows)
        return counts

    def _make_ready(self, group: Sequence[TableStep]) -> None:
        """Prepare tables that are refreshed on their own, before their first step."""
        for step in group:
            if step.name not in self.ready and self.tables[step.name].refresh == self.batch.number:
                prepare_place(self.batch.run, step.table, step.name, self.batch.number)
            self.ready.add(step.name)

    def _rows(self, step: TableStep) -> int:
        """Apply rows of the log, or of a seed with the changes in the log since."""
        batch, part = self.batch, step.part
        if isinstance(part, Rows):
            return self._apply_rows(step, part)
        if not part.item.seed:
            return 0
        timeline = batch.items.get(step.name, ())
        state = self.tables[step.name]
        seeding = Seeding(
            batch.run, step.table, state, part, step.version, timeline, batch.since_seeds
        )
        return seeding.load()

    def _apply_rows(self, step: TableStep, part: Rows) -> int:
        batch, run, table = self.batch, self.batch.run, step.table
        if part.stop <= (self.tables[step.name].to_lsn, LAST) and _applied(run.spark, table, part):
            return 0
        write = table.write(step.version)
        sample = batch.drift_sample if part.complete else None
        drift_check = DriftCheck(sample, str(step.name)) if sample else None
        types = run.settings.type_options
        here = changes_here(run.spark, run.lake, part, batch.facts, types) if batch.few else None
        if here is not None and self._are_all(step.name, part):
            count = apply_few(run, here, part, write, drift_check)
            if count is not None:
                return count
        lenient = batch.state.mark_faults and not part.complete
        return apply_part(
            run.session,
            self._taking(step.name, part, here),
            shape_of(part.definition, part.key),
            write,
            left_out=left_out(part, types, lenient=lenient),
            complete=part.complete,
            drift_check=drift_check,
            few=few_of(batch.few, part.definition),
        )

    def _are_all(self, name: TableName, part: Rows) -> bool:
        """Return True if a part has no other changes than those logged between its bounds."""
        cascaded = self.batch.cascades.get((name, part.version))
        return cascaded is None and not decided(part, self.batch.facts.prepared)

    def _taking(self, name: TableName, part: Rows, here: pa.Table | None) -> Take:
        batch, run, facts = self.batch, self.batch.run, self.batch.facts
        spark, cascaded = run.session, batch.cascades.get((name, part.version))

        def take(session: SparkSession) -> PartChanges | None:
            with nullcontext() if session is spark else staying_active(spark):
                return read_changes(
                    session, run.lake, name, part, facts.skipped, facts.prepared, cascaded, here
                )

        return take


def _stopped_by(error: Exception, group: Sequence[TableStep]) -> tuple[TableName, Refusal | Damage]:
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


def _applied(spark: Spark, table: GoldTable, part: Rows) -> bool:
    """Return True if an earlier run has already passed the definition change after these rows.

    The table may have other columns by now, so the rows could not even be read.
    """
    now = table_progress(spark, table.reference, table.refresh)
    return now is not None and now.is_of(table.source) and now.begun >= part.stop
