"""Description of gold's tables at the last published snapshot: columns, types, keys, state."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

from pyspark.sql import types as st

from decoder import TableDefinition
from pipeline.gold.snapshot.snapshot import find_some_tables
from pipeline.gold.snapshot.table_versions import SnapshotEntry, opened, schema_of
from pipeline.gold.table.names import gold_name
from pipeline.gold.table.state import GoldState, TableState
from pipeline.lake import Ledger, delta
from pipeline.lake.delta_log.spark_types import spark_schema
from pipeline.lake.delta_log.spark_written import has_log
from pipeline.lake.lazy_spark import Spark, started
from pipeline.lake.tables.choice import tables_of
from pipeline.schema_history import TableName
from pipeline.schema_history.alter.items import TimelineItem, in_force
from pipeline.schema_history.timeline.stored_timeline import read_items
from pipeline.settings import Settings


@dataclass(frozen=True, slots=True)
class DescribedColumn:
    """A column; `type` is Spark's name of it. `required`: the source has no NULL in it."""

    name: str
    type: str
    required: bool


@dataclass(frozen=True, slots=True)
class DescribedTable:
    """A gold table. `key`: the columns that identify its rows in gold; empty for a keyless one.

    `held`: why its changes are not applied; `complete`, `dropped`: as in `TableState`.
    """

    name: TableName
    reference: str
    columns: tuple[DescribedColumn, ...]
    key: tuple[str, ...]
    held: str | None
    complete: bool
    dropped: bool


def describe_tables(
    spark: Spark, settings: Settings, patterns: Sequence[str] = ()
) -> tuple[str, list[DescribedTable]]:
    """Return the snapshot's source, and its tables that match `patterns`, in order of their names.

    Raises SettingsError if nothing is published or matches, LostSnapshotError if a table is gone.
    """
    lake = settings.layout
    cut, entries = find_some_tables(settings, tables_of(spark, lake), None, patterns)
    state = GoldState.of(Ledger(spark, lake, cut.source))
    known = _definitions(in_force(read_items(spark, lake, cut.source)), state.tables)

    def described(entry: SnapshotEntry) -> DescribedTable:
        name = TableName(entry["schema"], entry["table"])
        table = state.tables.get(name, TableState(name.schema, name.table))
        reference = gold_name(settings, name.schema, name.table)
        fields = _schema(spark, reference, entry).fields
        own = known.get(name)
        key = table.key or (own.key if own else ())
        there = {field.name for field in fields}
        return DescribedTable(
            name,
            reference,
            tuple(_column(field, own) for field in fields),
            key if there.issuperset(key) else (),
            state.holds(table),
            entry["complete"],
            table.dropped,
        )

    with ThreadPoolExecutor(settings.parallel_tables) as pool:
        found = list(pool.map(described, entries.values()))
    return cut.source, sorted(found, key=lambda table: table.name)


def _definitions(
    items: Sequence[TimelineItem], tables: Mapping[TableName, TableState]
) -> dict[TableName, TableDefinition]:
    """Return the definition that each table has in gold."""
    return {
        item.name: item.definition
        for item in sorted(items, key=lambda item: item.position)
        if item.definition is not None
        and item.name in tables
        and item.lsn <= tables[item.name].to_lsn
    }


def _schema(spark: Spark, reference: str, entry: SnapshotEntry) -> st.StructType:
    if has_log(spark, reference):
        return spark_schema(schema_of(opened(reference, entry)))
    return delta.read(started(spark), reference, version=entry["delta_version"]).schema


def _column(field: st.StructField, own: TableDefinition | None) -> DescribedColumn:
    required = own is not None and any(
        column.name == field.name and not column.nullable for column in own.columns
    )
    return DescribedColumn(field.name, field.dataType.simpleString(), required)
