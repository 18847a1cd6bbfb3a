"""Load a seed's rows into a gold table, and apply the log's changes since.

One step of several commits: the seed's rows replace everything in the table, then a MERGE applies
the changes after the seed, and last the table's position is set. If the changes cannot be applied,
the table is restored to its previous version. In a seed that was read during writes, a row may be
of any time up to its end: a change that it already contains is then applied again, which is
idempotent as long as images are complete. Images that leave columns out are refused.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession, functions as sf, types as st

from decoder import TableDefinition
from pipeline.errors import BinlakeError
from pipeline.gold.apply.merge import apply_few, apply_part
from pipeline.gold.changes.change_stats import first_lsn, is_partial
from pipeline.gold.changes.changes import (
    PARTIAL_COLUMNS,
    PartChanges,
    decided,
    read_changes,
)
from pipeline.gold.changes.fold import shape_of
from pipeline.gold.changes.log_facts import Facts, gather
from pipeline.gold.changes.small_batch import are_few, changes_here
from pipeline.gold.changes.steps import Evolve, Rows, parts
from pipeline.gold.local.seed import load_without_spark
from pipeline.gold.schema.evolve import begun_in_place
from pipeline.gold.schema.table_change import TableChange
from pipeline.gold.schema.unlogged import completed, left_out
from pipeline.gold.table.gold_table import GoldTable, gold_schema
from pipeline.gold.table.names import COMMITTED_AT, LSN
from pipeline.gold.table.state import Refusal, TableRefusedError, TableState
from pipeline.lake.sql_text import in_sql
from pipeline.layer import LayerRun
from pipeline.schema_history import TableName
from pipeline.schema_history.alter.items import SeededFrom, TimelineItem
from pipeline.silver.plan.stored_seeds import Seed, read_seed, rows_folder, staged_schema

FROM_START = 1
"""XA transactions are read from the log's start: one may have been prepared before the seed."""
MOST_PARTS = 6
"""Limit on the silver tables with changes after a seed: each takes a commit of the same step."""


def first_seed(items: Iterable[TimelineItem], low: int, high: int) -> int:
    """Return the LSN of the first seed after `low`, at most `high`.

    A batch ends with it, since foreign key cascades, from and to the seeded table, are computed
    from gold's rows before a batch.
    """
    return min([high, *(item.lsn for item in items if item.seed and item.lsn > low)])


def seed_facts(
    run: LayerRun,
    states: Iterable[TableState],
    items: Mapping[TableName, Sequence[TimelineItem]],
    high: int,
) -> Facts:
    """Return facts of silver's transactions since the first of the seeds that tables pass."""
    seeds = [
        item.seed.lsn
        for state in states
        for item in items.get(state.name, ())
        if item.seed and state.from_lsn < item.lsn <= state.to_lsn
    ]
    if not seeds:
        return Facts(high, high)
    return gather(run.spark, run.lake, run.source, min(seeds), high, FROM_START)


@dataclass(frozen=True, slots=True)
class Seeding:
    """The load of a seed's rows into a table in one step; `version` is the step's first version.

    `items`: the table's timeline; `facts`: of silver's transactions since the batch's first seed.
    """

    run: LayerRun
    table: GoldTable
    state: TableState
    part: Evolve
    version: int
    items: Sequence[TimelineItem]
    facts: Facts

    def load(self) -> int:
        """Apply the item with the seed; return the number of the seed's rows plus later changes.

        Raise TableRefusedError if the changes cannot be applied.
        """
        item = self.part.item
        seed, definition = item.seed, item.definition
        if seed is None or definition is None:
            return 0
        change = TableChange(self.run.spark, self.table, self.part, self.version)
        base = begun_in_place(change)
        if base is None:
            return 0
        stored = self._stored(definition, seed)
        if not self._loaded(change, stored, seed.lsn):
            change.overwrite(self._seed_rows(definition, stored, seed.lsn))
        change.cluster()
        try:
            count = self._catch_up(seed)
        except TableRefusedError as error:
            # The published snapshot will include the table's previous rows.
            restore = f"RESTORE TABLE {in_sql(self.table.reference)} TO VERSION AS OF {base}"
            change.commit(lambda: change.session.sql(restore))
            reason = f"its initial snapshot cannot be brought up to date: {error.refusal.reason}"
            raise TableRefusedError(Refusal(item.lsn, reason, passable=False)) from error
        change.set_position()
        return stored.rows + count

    def _stored(self, definition: TableDefinition, seed: SeededFrom) -> Seed:
        """Return the seed in the lake. Raise BinlakeError if it is gone."""
        stored = read_seed(self.run.lake, self.run.source, seed.id)
        if stored is None:
            raise BinlakeError(
                f"{definition} needs the rows of its initial snapshot {seed.id}, which are gone"
                " from the lake.",
                remedy=f"Seed it again: binlake seed --table {definition}.",
            )
        return stored

    def _loaded(self, change: TableChange, seed: Seed, lsn: int) -> bool:
        """Load the seed's rows; return False if they are left to Spark."""
        columns, folders = change.schema.fields, self._folders(seed)
        return load_without_spark(
            self.run.spark, change.write, columns, folders, lsn=lsn, count=seed.rows
        )

    def _folders(self, seed: Seed) -> list[str]:
        folder = rows_folder(self.run.lake, self.run.source, seed.id)
        return [f"{folder}/{part}" for part in seed.parts]

    def _seed_rows(self, definition: TableDefinition, seed: Seed, lsn: int) -> DataFrame:
        """Return the seed's rows, with the LSN of the seed's position in the log."""
        spark = self.run.session
        schema = gold_schema(definition, self.table.types)
        staged = staged_schema(definition, self.table.types)
        paths = self._folders(seed)
        found = (
            spark.read.schema(staged).parquet(*paths)
            if paths
            else spark.createDataFrame([], staged)
        )
        values = [
            sf.col(place).alias(field.name)
            for place, field in zip(staged.names, schema.fields, strict=False)
        ]
        return found.select(
            *values,
            sf.lit(lsn).cast(st.LongType()).alias(LSN),
            sf.lit(None).cast(schema[COMMITTED_AT].dataType).alias(COMMITTED_AT),
        )

    def _catch_up(self, seed: SeededFrom) -> int:
        """Apply the changes since the seed; return their number."""
        found = changes_since(self.state, self.items, self.part.item, seed)
        if len(found) > MOST_PARTS:
            reason = (
                f"its table map has changed {len(found)} times since its initial snapshot: seed it"
                " again"
            )
            raise TableRefusedError(Refusal(self.part.item.lsn, reason))
        return sum(
            self._apply(replace(rows, complete=seed.exact), self.version + n)
            for n, rows in enumerate(found, start=1)
        )

    def _apply(self, rows: Rows, version: int) -> int:
        run, table, name, facts = self.run, self.table, self.state.name, self.facts
        skipped, prepared = facts.skipped, facts.prepared
        types = run.settings.type_options
        few = changes_here(run.spark, run.lake, rows, facts, types) if are_few(facts) else None

        def take(session: SparkSession) -> PartChanges | None:
            return read_changes(session, run.lake, name, rows, skipped, prepared, here=few)

        write = table.write(version)
        if few is not None and not decided(rows, prepared):
            count = apply_few(run, few, rows, write) if rows.complete or _are_whole(few) else None
            if count is not None:
                return count
        meaning = left_out(rows, types, lenient=False)
        if not rows.complete and (changes := take(run.session)) is not None:
            _require_whole_images(completed(changes.frame, meaning))
        return apply_part(
            run.session,
            take,
            shape_of(rows.definition, rows.key),
            write,
            left_out=meaning,
            complete=rows.complete,
        )


def changes_since(
    state: TableState, items: Sequence[TimelineItem], item: TimelineItem, seed: SeededFrom
) -> list[Rows]:
    """Return the changes after a seed and before its item, one part for each table of silver."""
    # An earlier seed's item also defines the columns; its rows do not count.
    before = [
        replace(one, kind="version", seed=None) if one.seed else one
        for one in items
        if one.position < item.position
    ]
    way = TableState(state.schema, state.table, from_lsn=seed.lsn, to_lsn=item.lsn, key=state.key)
    found: list[Rows] = []
    for part in parts(way, before):
        if isinstance(part, Evolve):
            continue
        if found and found[-1].version == part.version:
            found[-1] = replace(part, start=found[-1].start)
        else:
            found.append(part)
    return found


def _are_whole(changes: pa.Table) -> bool:
    """Return True if no image leaves a column out."""
    return all(changes[name].null_count == len(changes) for name in PARTIAL_COLUMNS)


def _require_whole_images(changes: DataFrame) -> None:
    row = changes.agg(first_lsn(is_partial())).first()
    if row is not None and row[0] is not None:
        reason = (
            "row images leave columns out (binlog_row_image is not FULL), and the initial snapshot"
            " was read during writes: seed it with --consistent"
        )
        raise TableRefusedError(Refusal(row[0], reason))
