"""List the Delta tables to maintain: a source's own, and those that sources share."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from pipeline.bronze.tables import files_table, segments_table
from pipeline.gold import GoldState
from pipeline.gold.cascades.cascades_table import cascades_table
from pipeline.gold.plan.cuts_table import cuts_table
from pipeline.gold.table.names import gold_name
from pipeline.lake import Lake, Ledger
from pipeline.lake.delta_log.conditions import compare, equal
from pipeline.lake.delta_log.model import LakeTable
from pipeline.lake.layout import encode_part
from pipeline.lake.ledger.ledger_table import batches
from pipeline.lake.ledger.run_store import runs
from pipeline.lake.sql_text import is_name
from pipeline.lake.tables.by_spark import SparkTables
from pipeline.lake.tables.tables import Tables
from pipeline.layer import LayerRun
from pipeline.maintenance.gold_options import WantedOptions, wanted_options
from pipeline.schema_history import TableName
from pipeline.schema_history.alter.items import TimelineItem
from pipeline.schema_history.timeline.stored_timeline import definitions, read_items
from pipeline.silver.decode.silver_tables import (
    committer,
    emptied_changes_table,
    mapped_tables,
    quarantine_table,
    statements_table,
    transactions_table,
)


@dataclass(frozen=True, slots=True)
class Table:
    """A table to maintain; `name` is its path in the lake.

    `named`: for gold's tables the versions in kept snapshots, of the table with the Delta id
    `delta_id`; None for other tables. `wanted`: its options in the settings under `gold`.
    """

    name: str
    stored: LakeTable
    named: tuple[int, ...] | None = None
    delta_id: str | None = None
    wanted: WantedOptions | None = None

    def tables_for_reading(self, run: LayerRun) -> Tables:
        """Return the reader of its log: the ledger's, unless gold has a catalog of its own."""
        return spark_tables(run) if is_name(self.stored.reference) else run.ledger.tables

    def tables_for_writing(self, run: LayerRun) -> Tables:
        """Return the writer of its commits: Spark's for gold's tables."""
        if self.named is not None:
            return spark_tables(run)
        return committer(run.spark, run.ledger.tables, self.stored)


def spark_tables(run: LayerRun) -> SparkTables:
    """Return the lake's tables through Spark, starting it if needed."""
    tables = run.ledger.tables
    return tables if isinstance(tables, SparkTables) else SparkTables(run.session, run.lake)


def silver_tables(run: LayerRun) -> list[Table]:
    """Return the source's tables of changes, one for each table version in its timeline."""
    return _there(run, tables_of_changes(run.lake, read_items(run.spark, run.lake, run.source)))


def tables_of_changes(lake: Lake, items: Sequence[TimelineItem]) -> list[Table]:
    """Return the tables of changes of a timeline; not all of them need to exist."""
    known = {(i.schema, i.table, i.version) for i in items if i.version is not None}
    mapped = mapped_tables(items)
    return [
        Table(
            f"silver/{encode_part(schema)}/{encode_part(table)}/v{version}",
            emptied_changes_table(
                lake, schema, table, version, mapped=(schema, table, version) in mapped
            ),
        )
        for schema, table, version in sorted(known)
    ]


def gold_tables(run: LayerRun, *, first: int = 0) -> list[Table]:
    """Return the source's gold tables in published snapshots, with the versions in these.

    Snapshots of batches before `first` and damaged tables are ignored.
    """
    mine = equal("source", run.source) & compare("batch", ">=", first)
    cuts = run.ledger.tables.read(cuts_table(run.lake), mine, ["batch", "tables"])
    # As it is now: gold's runs may have added batches meanwhile.
    state = GoldState.of(Ledger.of(run.ledger.tables, run.source))
    damaged = {(t.schema, t.table) for t in state.tables.values() if t.damage is not None}
    # A table that was re-created by hand has another id, and none of the earlier versions.
    latest = {(row["schema"], row["table"]): row for row in _entries(cuts)}
    wanted = wanted_options(run, state)
    return [
        Table(
            f"gold/{encode_part(schema)}/{encode_part(table)}",
            LakeTable(gold_name(run.settings, schema, table), pa.schema([])),
            named=tuple(sorted(row["delta_version_distinct"])),
            delta_id=row["delta_id"],
            wanted=wanted.get(TableName(schema, table)),
        )
        for (schema, table), row in latest.items()
        if (schema, table) not in damaged
    ]


def _entries(cuts: pa.Table) -> Iterator[dict[str, Any]]:
    """Yield the versions in snapshots for each table and Delta id, ordered by the last snapshot."""
    named = cuts.column("tables").combine_chunks()
    entries = pa.Table.from_struct_array(pc.list_flatten(named))
    of = pc.list_parent_indices(named)
    entries = entries.append_column("batch", cuts.column("batch").take(of))
    there = entries.filter(pc.is_valid(pc.field("delta_version")))
    grouped = there.group_by(["schema", "table", "delta_id"]).aggregate(
        [("delta_version", "distinct"), ("batch", "max")]
    )
    yield from grouped.sort_by("batch_max").to_pylist()


def shared_tables(run: LayerRun) -> list[Table]:
    """Return the tables with rows of all the lake's sources."""
    return _there(run, lake_wide_tables(run.lake))


def lake_wide_tables(lake: Lake) -> list[Table]:
    """Return the same tables; not all of them need to exist."""
    return [
        Table("bronze/segments", segments_table(lake)),
        Table("bronze/files", files_table(lake)),
        Table("silver/transactions", transactions_table(lake)),
        Table("silver/statements", statements_table(lake)),
        Table("silver/quarantine", quarantine_table(lake)),
        Table("gold/_cuts", cuts_table(lake)),
        Table("gold/_cascades", cascades_table(lake)),
        Table("ledger/batches", batches(lake)),
        Table("ledger/definitions", definitions(lake)),
        Table("ledger/runs", runs(lake)),
    ]


def _there(run: LayerRun, found: Sequence[Table]) -> list[Table]:
    def exists(table: Table) -> bool:
        return table.tables_for_reading(run).state(table.stored) is not None

    with ThreadPoolExecutor(run.settings.parallel_tables) as pool:
        exist = pool.map(exists, found)
        return [table for table, there in zip(found, exist, strict=True) if there]
