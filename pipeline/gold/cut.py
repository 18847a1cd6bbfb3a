"""`gold/_cuts`: the states that gold can be read in, one row for each commit it was brought to.

A row names every table's Delta version: read together, they are the source as it was then, but for
those that the row says are held or not complete.
"""

from __future__ import annotations

from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pyarrow as pa
from pyspark.sql import DataFrame, Row, SparkSession, Window, functions as sf

from pipeline import delta
from pipeline.gold.gtids import GtidSet
from pipeline.gold.names import gold_name
from pipeline.gold.state import GoldState, TableState
from pipeline.lake import Lake
from pipeline.settings import Settings

TABLES = pa.list_(
    pa.struct(
        [
            pa.field("schema", pa.string()),
            pa.field("table", pa.string()),
            # a path, or a name in the catalog
            pa.field("path", pa.string()),
            # null where there is no gold table (yet)
            pa.field("delta_id", pa.string()),
            pa.field("delta_version", pa.int64()),
            pa.field("held", pa.bool_()),
            pa.field("complete", pa.bool_()),
        ]
    )
)
CUTS = pa.schema(
    [
        pa.field("source", pa.string()),
        pa.field("batch", pa.int64()),
        # of the last transaction that is applied
        pa.field("lsn", pa.int64()),
        # of all transactions up to it that the lake has; null where the log has no GTIDs
        pa.field("gtid_set", pa.string()),
        pa.field("committed_at", pa.timestamp("us", "UTC")),
        pa.field("tables", TABLES),
    ]
)
UUID_GTID = r"^(.+):(\d+)$"
DOMAIN_GTID = r"^\d+-\d+-\d+$"


def publish(
    spark: SparkSession,
    settings: Settings,
    state: GoldState,
    transactions: DataFrame | None,
    batch: int,
) -> None:
    """Append the cut of a plan whose tables are all applied.

    `transactions`: silver's, from the cut before up to this one; None where there are none.
    """
    lake = Lake(settings.lake)
    before = _last(spark, lake, settings.source)
    committed_at = before["committed_at_us"] if before else None
    gtids = GtidSet.parse(before["gtid_set"] if before else None)
    if transactions is not None:
        committed_at = _committed_at(transactions) or committed_at
        gtids = _extended(gtids, transactions)
    row = {
        "source": settings.source,
        "batch": batch,
        "lsn": state.cut_lsn,
        "gtid_set": str(gtids) or None,
        "committed_at": committed_at,
        "tables": _entries(spark, settings, state, before),
    }
    frame = spark.createDataFrame(pa.Table.from_pylist([row], schema=CUTS))
    app = f"gold/{settings.source}/_cuts"
    delta.append_once(frame.coalesce(1), lake.cuts, app=app, version=batch)


def _last(spark: SparkSession, lake: Lake, source: str) -> Row | None:
    if not delta.exists(spark, lake.cuts):
        return None
    cuts = delta.read(spark, lake.cuts).where(sf.col("source") == source)
    # As a number: collect() turns a timestamp into the local time of the driver.
    micros = sf.unix_micros("committed_at").alias("committed_at_us")
    return cuts.select("gtid_set", micros, "tables").orderBy(sf.desc("batch")).first()


def _committed_at(transactions: DataFrame) -> int | None:
    """When the last of them was committed, in microseconds since 1970."""
    row = transactions.agg(sf.max_by(sf.unix_micros("committed_at"), "__lsn").alias("at")).first()
    return row["at"] if row else None


def _extended(gtids: GtidSet, transactions: DataFrame) -> GtidSet:
    """The set with these transactions' GTIDs, which Spark has put together to intervals."""
    gtid = sf.col("gtid")
    if (row := transactions.select(sf.max("gtid").alias("any")).first()) is None or not row["any"]:
        return gtids
    numbered = transactions.select(
        sf.regexp_extract(gtid, UUID_GTID, 1).alias("sid"),
        sf.regexp_extract(gtid, UUID_GTID, 2).alias("digits"),
    ).where("digits != ''")
    numbers = numbered.select("sid", sf.col("digits").cast("bigint").alias("number")).distinct()
    rank = sf.row_number().over(Window.partitionBy("sid").orderBy("number"))
    islands = (
        numbers.withColumn("island", sf.col("number") - rank)
        .groupBy("sid", "island")
        .agg(sf.min("number").alias("first"), sf.max("number").alias("last"))
    )
    ends = (
        transactions.where(gtid.rlike(DOMAIN_GTID))
        .groupBy(sf.split(gtid, "-")[0])
        .agg(sf.max_by("gtid", "__lsn").alias("gtid"))
    )
    found = [(row["sid"], row["first"], row["last"]) for row in islands.collect()]
    return gtids.with_intervals(found).with_domains(row["gtid"] for row in ends.collect())


def _entries(
    spark: SparkSession, settings: Settings, state: GoldState, before: Row | None
) -> list[Mapping[str, Any]]:
    """Every table's entry; one that the batch did not touch is as it was in the cut before."""
    known = (
        {(entry["schema"], entry["table"]): entry for entry in before["tables"]} if before else {}
    )

    def entry(table: TableState) -> dict[str, Any]:
        path = gold_name(settings, table.schema, table.table)
        last = known.get((table.schema, table.table))
        if table.touched or last is None or last["delta_id"] is None:
            delta_id, delta_version = _version(spark, path)
        else:
            delta_id, delta_version = last["delta_id"], last["delta_version"]
        return {
            "schema": table.schema,
            "table": table.table,
            "path": path,
            "delta_id": delta_id,
            "delta_version": delta_version,
            "held": table.held is not None or table.to_lsn < state.cut_lsn,
            "complete": table.complete,
        }

    tables = [state.tables[name] for name in sorted(state.tables)]
    with ThreadPoolExecutor(settings.parallel_tables) as pool:
        return list(pool.map(entry, tables))


def _version(spark: SparkSession, path: str) -> tuple[str | None, int | None]:
    """A table's id and its latest version, or nothing where there is no table."""
    if not delta.exists(spark, path):
        return None, None
    table = delta.open_table(spark, path)
    detail = table.detail().select("id").first()
    history = table.history(1).select("version").first()
    return (detail["id"], history["version"]) if detail and history else (None, None)
