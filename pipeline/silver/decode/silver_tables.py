"""Silver's tables: columns, statistics for data skipping, and the writer that commits them."""

from __future__ import annotations

from collections.abc import Iterable

import pyarrow as pa

from decoder import TableDefinition, TypeOptions, schemas
from decoder.columns import row_type
from pipeline.lake import Lake
from pipeline.lake.delta_log.column_features import COLUMN_MAPPING, enabling, needs_mapping
from pipeline.lake.delta_log.model import LakeTable
from pipeline.lake.lazy_spark import Spark, started
from pipeline.lake.tables.by_spark import SparkTables
from pipeline.lake.tables.tables import Tables
from pipeline.schema_history.alter.items import TimelineItem
from pipeline.silver.decode.decode import STAGED_FAULTS, STAGED_TRANSACTIONS

_MAPPED = enabling([COLUMN_MAPPING])
_CHANGES = {
    # The columns that gold filters by; statistics of all image columns cost more than they gain.
    "delta.dataSkippingStatsColumns": "__lsn,__pos",
}

_SOURCE = pa.field("source", pa.string())
_BATCH = pa.field("batch", pa.int64())


def _nullable(*fields: pa.Field) -> pa.Schema:
    """Return a schema of nullable fields: Delta's writers check each row of a NOT NULL column."""
    return pa.schema([field.with_nullable(True) for field in fields])


TRANSACTIONS = _nullable(_SOURCE, _BATCH, *STAGED_TRANSACTIONS)
STATEMENTS = _nullable(_SOURCE, _BATCH, *schemas.STATEMENTS)
QUARANTINE = _nullable(_SOURCE, _BATCH, *STAGED_FAULTS, pa.field("resolved_batch", pa.int64()))


def transactions_table(lake: Lake) -> LakeTable:
    """Return the table with one row per transaction."""
    statistics = ("source", "batch", "__lsn", "commit_lsn")
    return LakeTable(lake.transactions, TRANSACTIONS, statistics=statistics)


def statements_table(lake: Lake) -> LakeTable:
    """Return the table with one row per statement."""
    return LakeTable(lake.statements, STATEMENTS, statistics=("source", "batch", "__lsn"))


def quarantine_table(lake: Lake) -> LakeTable:
    """Return the table with one row per fault."""
    statistics = ("source", "batch", "__lsn", "kind", "ordinal", "start_pos", "resolved_batch")
    return LakeTable(lake.quarantine, QUARANTINE, statistics=statistics)


def changes_table(
    lake: Lake, definition: TableDefinition, version: int, options: TypeOptions
) -> LakeTable:
    """Return the table of changes under one definition of a table."""
    schema = _nullable(*schemas.changes(row_type(definition, options)))
    return _changes(
        lake.changes(definition.schema, definition.table, version),
        schema,
        mapped=is_mapped(definition),
    )


def emptied_changes_table(
    lake: Lake, schema: str, table: str, version: int, *, mapped: bool
) -> LakeTable:
    """Return the same table after a full refresh has emptied it.

    It has no image columns, whose types may differ when changes are written again. `mapped`: see
    `is_mapped`.
    """
    reference = lake.changes(schema, table, version)
    return _changes(reference, _nullable(*schemas.CHANGE_FIELDS), mapped=mapped)


def _changes(reference: str, schema: pa.Schema, *, mapped: bool) -> LakeTable:
    properties = {**_CHANGES, **(_MAPPED if mapped else {})}
    return LakeTable(reference, schema, statistics=("__lsn", "__pos"), properties=properties)


def changes_app(source: str, schema: str, table: str, version: int) -> str:
    """Return the application name for the transaction identifiers of a changes table's commits."""
    return f"silver/{source}/{schema}/{table}/v{version}"


def is_mapped(definition: TableDefinition) -> bool:
    """Return True if a column's name is stored in Delta only through column mapping."""
    return needs_mapping(column.name for column in definition.columns)


def mapped_tables(items: Iterable[TimelineItem]) -> frozenset[tuple[str, str, int]]:
    """Return the tables of changes (schema, table, version) with column mapping."""
    return frozenset(
        (item.schema, item.table, item.version)
        for item in items
        if item.version is not None and item.definition and is_mapped(item.definition)
    )


def committer(spark: Spark, tables: Tables, table: LakeTable) -> Tables:
    """Return the writer of a silver table.

    Spark writes tables with column mapping, whose schemas delta-rs does not evolve; `tables` all
    others.
    """
    if _MAPPED.items() <= table.properties.items():
        return SparkTables(started(spark), tables.lake)
    return tables
