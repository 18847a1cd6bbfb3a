"""The timeline in the lake: `ledger/definitions`, one row per item, written by silver's batches."""

from __future__ import annotations

from collections.abc import Collection, Sequence

import pyarrow as pa

from pipeline.errors import SettingsError
from pipeline.lake import Lake
from pipeline.lake.delta_log.conditions import among, equal
from pipeline.lake.delta_log.model import LakeTable
from pipeline.lake.delta_step import Step
from pipeline.lake.lazy_spark import Spark
from pipeline.lake.tables.choice import tables_of
from pipeline.schema_history.alter.items import UNOWNED_KINDS, TimelineItem
from pipeline.schema_history.ddl.effects import TableName

_SCHEMA = pa.schema(
    [
        pa.field("source", pa.string()),
        pa.field("batch", pa.int64()),
        # Order of items at one position: a statement may drop several tables.
        pa.field("number", pa.int32()),
        pa.field("lsn", pa.int64()),
        pa.field("pos", pa.int64()),
        pa.field("schema", pa.string()),
        pa.field("table", pa.string()),
        pa.field("kind", pa.string()),
        # the N of silver's v<N> that rows are written to from here on
        pa.field("version", pa.int32()),
        # JSON of decoder.TableDefinition
        pa.field("definition", pa.string()),
        # JSON: column name → text of its value in existing rows, or null
        pa.field("defaults", pa.string()),
        pa.field("statement", pa.string()),
        pa.field("reason", pa.string()),
        # JSON: the steps of an `alter`, one per column; the TableModel; {"schema", "table"}
        pa.field("columns", pa.string()),
        pa.field("model", pa.string()),
        pa.field("other", pa.string()),
        # JSON of pipeline.schema_history.ddl.partitions.PartitionRows
        pa.field("rows", pa.string()),
        # JSON of pipeline.schema_history.alter.items.SeededFrom
        pa.field("seed", pa.string()),
    ]
)


def definitions(lake: Lake) -> LakeTable:
    """Return the lake's table of timeline items."""
    return LakeTable(lake.ledger("definitions"), _SCHEMA, statistics=("source", "batch"))


def read_items(spark: Spark, lake: Lake, source: str) -> list[TimelineItem]:
    """Return all items of a source, in log order."""
    rows = tables_of(spark, lake).read(definitions(lake), equal("source", source))
    ordered = rows.sort_by([("batch", "ascending"), ("number", "ascending")])
    return [TimelineItem.from_dict(row) for row in ordered.to_pylist()]


def require_own_tables(spark: Spark, lake: Lake, source: str, names: Collection[TableName]) -> None:
    """Raise SettingsError if another source has one of these tables in this lake.

    Silver and gold have one place per table name, and LSNs of two sources are not comparable.
    """
    if not names:
        return
    # A statement on a table that a source does not have does not make the table its own.
    others = ~equal("source", source) & ~among("kind", UNOWNED_KINDS)
    columns = ("source", "schema", "table")
    rows = tables_of(spark, lake).read(definitions(lake), others, columns).to_pylist()
    for other, schema, table in sorted({tuple(row.values()) for row in rows}):
        name = TableName(schema, table)
        if name in names:
            raise table_of_other_source(name, other, source)


def table_of_other_source(name: TableName, other: str, source: str) -> SettingsError:
    """Return the error for a table that another source of the lake writes."""
    return SettingsError(
        f"{name} is already in this lake, from source {other}.",
        key="source",
        remedy=f"Use a separate lake for {source}, or exclude the table (exclude in the settings).",
    )


def append_items(
    spark: Spark, lake: Lake, source: str, batch: int, items: Sequence[TimelineItem]
) -> None:
    """Append one batch's items, exactly once."""
    if not items:
        return
    rows = [
        {"source": source, "batch": batch, "number": number, **item.to_dict()}
        for number, item in enumerate(items)
    ]
    tables_of(spark, lake).append(
        definitions(lake),
        pa.Table.from_pylist(rows, schema=_SCHEMA),
        Step(f"silver/{source}/definitions", batch),
    )
