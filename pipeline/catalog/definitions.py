"""The timeline in the lake: `ledger/definitions`, one row per item, written by silver's batches."""

from __future__ import annotations

from collections.abc import Collection, Sequence

import pyarrow as pa
from pyspark.sql import SparkSession, functions as sf

from pipeline import delta
from pipeline.catalog.effects import TableName
from pipeline.catalog.items import NOBODYS, TimelineItem
from pipeline.errors import SettingsError
from pipeline.lake import Lake

DEFINITIONS = pa.schema(
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
        # silver's v<N> that rows are in from here on
        pa.field("version", pa.int32()),
        # JSON of decoder.definition.TableDefinition
        pa.field("definition", pa.string()),
        # JSON: column name → text of its value in existing rows, or null
        pa.field("defaults", pa.string()),
        pa.field("statement", pa.string()),
        pa.field("reason", pa.string()),
        # JSON: a step for each column of an `alter`; what DDL tells besides; {"schema", "table"}
        pa.field("columns", pa.string()),
        pa.field("model", pa.string()),
        pa.field("other", pa.string()),
        # JSON of pipeline.catalog.partitions.PartitionRows
        pa.field("rows", pa.string()),
        # JSON of pipeline.catalog.items.SeededFrom
        pa.field("seed", pa.string()),
    ]
)


def read_items(spark: SparkSession, lake: Lake, source: str) -> list[TimelineItem]:
    """All items of a source, in the order of its log."""
    path = lake.ledger("definitions")
    if not delta.exists(spark, path):
        return []
    rows = delta.read(spark, path).where(sf.col("source") == source).coalesce(1).collect()
    ordered = sorted(rows, key=lambda row: (row["batch"], row["number"]))
    return [TimelineItem.from_dict(row.asDict()) for row in ordered]


def require_own_tables(
    spark: SparkSession, lake: Lake, source: str, names: Collection[TableName]
) -> None:
    """Raise SettingsError if another source has one of these tables in this lake.

    Silver and gold have one place for a table's name, and LSNs of two sources cannot be compared.
    """
    path = lake.ledger("definitions")
    if not names or not delta.exists(spark, path):
        return
    # What was told of a table that a source does not have makes it nobody's.
    others = delta.read(spark, path).where(
        (sf.col("source") != source) & ~sf.col("kind").isin(*NOBODYS)
    )
    rows = others.select("source", "schema", "table").distinct().coalesce(1).collect()
    for row in sorted(rows):
        name = TableName(row["schema"], row["table"])
        if name in names:
            raise no_own_table(name, row["source"], source)


def no_own_table(name: TableName, other: str, source: str) -> SettingsError:
    """What is said where a source would write to a table that another one has."""
    return SettingsError(
        f"{name} is in this lake already, from source {other}.",
        key="source",
        remedy=f"Give {source} a lake of its own, or leave the table out with exclude.",
    )


def append_items(
    spark: SparkSession, lake: Lake, source: str, batch: int, items: Sequence[TimelineItem]
) -> None:
    """Append one batch's items, once."""
    if not items:
        return
    rows = [
        {"source": source, "batch": batch, "number": number, **item.to_dict()}
        for number, item in enumerate(items)
    ]
    table = pa.Table.from_pylist(rows, schema=DEFINITIONS)
    delta.append_once(
        spark.createDataFrame(table).coalesce(1),
        lake.ledger("definitions"),
        app=f"silver/{source}/definitions",
        version=batch,
        # A lake of an older release lacks columns that came later.
        options={"mergeSchema": "true"},
    )
