"""The Delta tables that there are to look after: a source's own, and those that sources share."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Literal

from pyspark.sql import SparkSession, functions as sf

from pipeline import delta
from pipeline.catalog.definitions import read_items
from pipeline.gold.damage import met_in
from pipeline.gold.names import gold_name
from pipeline.gold.state import GoldState
from pipeline.lake import encode_part
from pipeline.ledger import Ledger
from pipeline.settings import Settings


@dataclass(frozen=True, slots=True)
class Table:
    """`name` is where it is in the lake; `big_rows`: its rows are of many megabytes.

    `named` are the versions that kept cuts name, of the table of that Delta id (`delta_id`); None
    for tables of which no version is named.
    """

    layer: Literal["gold", "silver", "bronze", "ledger"]
    name: str
    reference: str
    big_rows: bool = False
    named: tuple[int, ...] | None = None
    delta_id: str | None = None


def silver_tables(spark: SparkSession, settings: Settings) -> list[Table]:
    """The source's tables of changes, of every definition that its timeline has."""
    lake = settings.layout
    items = read_items(spark, lake, settings.source)
    known = sorted({(i.schema, i.table, i.version) for i in items if i.version is not None})
    tables = [
        Table(
            "silver",
            f"silver/{encode_part(schema)}/{encode_part(table)}/v{version}",
            lake.changes(schema, table, version),
        )
        for schema, table, version in known
    ]
    return _there(spark, settings, tables)


def gold_tables(spark: SparkSession, settings: Settings, *, first: int = 0) -> list[Table]:
    """The source's gold tables that cuts name, with the versions of those that are there now.

    Cuts of batches before `first` do not count. One that is damaged is left as it is.
    """
    cuts = settings.layout.cuts
    if not delta.exists(spark, cuts):
        return []
    mine = delta.read(spark, cuts).where(
        (sf.col("source") == settings.source) & (sf.col("batch") >= first)
    )
    entries = mine.select("batch", sf.explode("tables").alias("t")).select("batch", "t.*")
    rows = (
        entries.where("delta_version IS NOT NULL")
        .groupBy("schema", "table", "delta_id")
        .agg(sf.collect_set("delta_version").alias("versions"), sf.max("batch").alias("batch"))
        .collect()
    )
    state = GoldState.of(Ledger(spark, settings.layout, settings.source))
    damaged = {(t.schema, t.table) for t in state.tables.values() if t.damage is not None}
    # A table that was made anew by hand has another id, and no version of before.
    latest = {(row["schema"], row["table"]): row for row in sorted(rows, key=lambda r: r["batch"])}
    tables = [
        Table(
            "gold",
            f"gold/{encode_part(schema)}/{encode_part(table)}",
            gold_name(settings, schema, table),
            named=tuple(sorted(row["versions"])),
            delta_id=row["delta_id"],
        )
        for (schema, table), row in latest.items()
        if (schema, table) not in damaged
    ]
    return _there(spark, settings, tables)


def shared_tables(spark: SparkSession, settings: Settings) -> list[Table]:
    """Those that have rows of all the lake's sources."""
    lake = settings.layout
    tables = [
        Table("bronze", "bronze/segments", lake.segments, big_rows=True),
        Table("bronze", "bronze/files", lake.files),
        Table("silver", "silver/transactions", lake.transactions),
        Table("silver", "silver/statements", lake.statements),
        Table("silver", "silver/quarantine", lake.quarantine, big_rows=True),
        Table("gold", "gold/_cuts", lake.cuts),
        Table("gold", "gold/_cascades", lake.cascades, big_rows=True),
        *(
            Table("ledger", f"ledger/{name}", lake.ledger(name))
            for name in ("batches", "definitions", "runs")
        ),
    ]
    return _there(spark, settings, tables)


def _there(spark: SparkSession, settings: Settings, tables: Sequence[Table]) -> list[Table]:
    def exists(table: Table) -> bool:
        try:
            return delta.exists(spark, table.reference)
        except Exception as error:
            if table.layer != "gold" or met_in(error, table.reference, None) is None:
                raise
            return False  # a run of gold says what is wrong with it

    with ThreadPoolExecutor(settings.parallel_tables) as pool:
        found: Iterable[bool] = pool.map(exists, tables)
        return [table for table, there in zip(tables, found, strict=True) if there]
