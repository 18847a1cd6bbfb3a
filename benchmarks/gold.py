"""Measure the cost of a small batch on a large gold table, and of many tables in one run.

Run: `make bench-gold`, or `python -m benchmarks.gold --rows 20000000`. Batches of changed keys,
adjacent or spread over the table, are applied to copies of one table as gold applies them, and by a
plain MERGE of the same rows (one row per key). Then `benchmarks.many_tables` runs.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import reduce
from pathlib import Path
from urllib.parse import unquote, urlparse

from delta.tables import DeltaTable
from pyspark.sql import Column, DataFrame, SparkSession, functions as sf
from rich.console import Console
from rich.table import Table

from benchmarks.many_tables import jobs, many_tables
from pipeline.gold.apply.merge import apply_part
from pipeline.gold.changes.change_stats import change_stats, within
from pipeline.gold.changes.changes import PartChanges
from pipeline.gold.changes.drift import DriftCheck, DriftSample
from pipeline.gold.changes.fold import Shape
from pipeline.gold.changes.images import LeftOut
from pipeline.gold.changes.small_batch import Few
from pipeline.gold.schema.evolve import first_properties
from pipeline.gold.table.commits import CommitSums, written
from pipeline.gold.table.gold_table import Write
from pipeline.gold.table.options import TableOptions
from pipeline.gold.table.table_metadata import properties_in_sql
from pipeline.lake import delta
from pipeline.lake.child_sessions import FEW, interpreted
from pipeline.lake.delta_step import Step
from pipeline.lake.sql_text import in_sql
from pipeline.settings import Settings
from pipeline.spark.session import session

MASTER = "local[2]"
COLUMNS = ("id", "device", "name", "site", "amount", "rate", "taken_at", "note")
SHAPE = Shape(COLUMNS, ("id",))
FILE_ROWS = 500_000
LSN = 1000


@dataclass(frozen=True, slots=True)
class Figures:
    """The cost of applying one batch in one way."""

    seconds: float
    jobs: int
    files_scanned: int
    bytes_scanned: int
    written: CommitSums


def main() -> int:
    """Run the benchmark and print tables."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=20_000_000)
    parser.add_argument("--keys", type=int, nargs="+", default=[1_000, 10_000, 100_000])
    parser.add_argument("--tables", type=int, default=100, help="0: no run of many tables")
    options = parser.parse_args()
    settings = Settings.load(None, spark={"master": MASTER, "driver_memory": "2g"})
    spark = session(settings, "binlake gold")
    screen = Console(width=140)
    if options.keys and options.rows:
        with tempfile.TemporaryDirectory() as folder:
            screen.print(large_table(spark, folder, options.rows, options.keys))
    if options.tables:
        many_tables(spark, options.tables, screen)
    return 0


def large_table(spark: SparkSession, folder: str, rows: int, batches: list[int]) -> Table:
    """Apply every batch to a table of `rows` rows by each of `WAYS`; return the figures."""
    base = f"{folder}/base"
    _make_table(spark, base, rows)
    report = Table(title=f"{rows:,} rows, {_size(base):,} bytes in files of {FILE_ROWS:,} rows")
    headings = ("keys", "", "way", "s", "jobs", "files read", "MB read", "files away", "MB added")
    for heading in (*headings, "DVs"):
        report.add_column(heading, justify="right")
    for count in batches:
        for where in ("local", "random"):
            changes = f"{folder}/{count}-{where}"
            _make_changes(spark, changes, rows, count, where)
            for way, apply in WAYS.items():
                copy = f"{folder}/{count}-{where}-{way.replace(' ', '-')}"
                spark.sql(f"CREATE TABLE {in_sql(copy)} SHALLOW CLONE {in_sql(base)}")
                figures = _measured(spark, copy, changes, apply)
                report.add_row(f"{count:,}", where, way, *_shown(figures))
    return report


def _shown(figures: Figures) -> list[str]:
    done = figures.written
    return [
        f"{figures.seconds:.1f}",
        str(figures.jobs),
        str(figures.files_scanned),
        f"{figures.bytes_scanned / 1e6:.1f}",
        str(done.files_removed),
        f"{done.bytes_added / 1e6:.1f}",
        str(done.deletion_vectors),
    ]


def _rows(ids: DataFrame, salt: int) -> DataFrame:
    """Return the table's row for each id; `salt` changes some of the columns."""
    number = sf.col("id")
    return ids.select(
        number,
        sf.pmod(sf.xxhash64(number, sf.lit(salt)), sf.lit(5000)).alias("device"),
        sf.md5(number.cast("string")).alias("name"),
        sf.concat(sf.lit("site "), sf.pmod(number, sf.lit(97)).cast("string")).alias("site"),
        (sf.pmod(number * 7919, sf.lit(10_000_000)) / 100).cast("decimal(12,2)").alias("amount"),
        (sf.col("id") / 7).alias("rate"),
        sf.timestamp_seconds(number + 1_700_000_000 + salt).alias("taken_at"),
        sf.when(sf.pmod(number, sf.lit(3)) == 0, sf.lit("a note of some length")).alias("note"),
    )


def _make_table(spark: SparkSession, path: str, rows: int) -> None:
    """Create a table with even ids in order, in files of `FILE_ROWS`; odd ids are for inserts."""
    ids = spark.range(0, 2 * rows, 2, max(rows // FILE_ROWS, 1))
    whole = _rows(ids, 0).withColumns({"__lsn": sf.lit(1).cast("bigint"), "__committed_at": _now()})
    properties = properties_in_sql(first_properties(whole.schema, TableOptions()))
    columns = ", ".join(f"`{f.name}` {f.dataType.simpleString()}" for f in whole.schema.fields)
    spark.sql(
        f"CREATE TABLE {in_sql(path)} ({columns}) USING delta CLUSTER BY (id)"
        f" TBLPROPERTIES ({properties})"
    )
    whole.write.format("delta").mode("append").save(path)


def _make_changes(spark: SparkSession, path: str, rows: int, count: int, where: str) -> None:
    """Write changes by a hash of the id: an insert and a delete per six updates."""
    if where == "local":
        first = rows // 2
        ids = spark.range(first, first + count)
    else:
        ids = spark.range(count).select((sf.col("id") * (2 * rows // count)).alias("id"))
    kind = sf.pmod(sf.xxhash64("id"), sf.lit(8))
    # Odd ids are not in the table yet.
    number = sf.when(kind == 0, sf.col("id").bitwiseOR(1)).otherwise(
        sf.col("id").bitwiseAND(sf.lit(-2).cast("bigint"))
    )
    op = sf.when(kind == 0, "insert").when(kind == 1, "delete").otherwise("update")
    chosen = (
        ids.select(number.alias("id"), op.alias("op")).groupBy("id").agg(sf.max("op").alias("op"))
    )
    before = _rows(chosen, 0).select("id", sf.struct(*COLUMNS).alias("before"))
    after = _rows(chosen, 7).select("id", sf.struct(*COLUMNS).alias("after"))
    joined = chosen.join(before, "id").join(after, "id")
    made = joined.select(
        sf.col("op").alias("__op"),
        sf.lit(LSN).cast("bigint").alias("__lsn"),
        sf.col("id").alias("__pos"),
        sf.lit(0).alias("__row"),
        _now().alias("__committed_at"),
        sf.when(sf.col("op") != "insert", sf.col("before")).alias("before"),
        sf.when(sf.col("op") != "delete", sf.col("after")).alias("after"),
        *(sf.lit(None).cast("array<string>").alias(f"__absent_{s}") for s in ("before", "after")),
        sf.lit(None).cast("map<string,string>").alias("__json_diff"),
    )
    made.write.format("delta").save(path)


def _now() -> Column:
    return sf.timestamp_seconds(sf.lit(1_790_000_000))


def _apply(spark: SparkSession, path: str, changes: str, count: int) -> None:
    """Apply the changes as gold does."""
    _apply_part(spark, path, changes, count, None)


def _apply_checked(spark: SparkSession, path: str, changes: str, count: int) -> None:
    """Apply the changes as gold does with `drift: full`."""
    sample = DriftSample()
    _apply_part(spark, path, changes, count, DriftCheck(sample, "bench"))
    if any(drift.found for drift in sample.found.values()):
        raise RuntimeError(f"drift was reported although the images match gold: {sample.found}")


def _apply_part(
    spark: SparkSession, path: str, changes: str, count: int, drift_check: DriftCheck | None
) -> None:
    apply_part(
        spark,
        lambda session: PartChanges(delta.read(session, changes)),
        SHAPE,
        Write(path, Step("bench", 1)),
        left_out=LeftOut(),
        complete=True,
        drift_check=drift_check,
        few=Few(count, interpreted(spark)) if count <= FEW else None,
    )


def _merge(spark: SparkSession, path: str, changes: str, _count: int) -> None:
    """Apply the changes by a MERGE written by hand, which relies on one row per key."""
    deleted = sf.col("__op") == "delete"
    image = sf.when(deleted, sf.col("before")).otherwise(sf.col("after"))
    rows = (
        delta.read(spark, changes)
        .select(image.alias("i"), "__lsn", "__committed_at", deleted.alias("deleted"))
        .select("i.*", "__lsn", "__committed_at", "deleted")
    )
    values: dict[str, str | Column] = {
        name: sf.col(f"s.{name}") for name in (*COLUMNS, "__lsn", "__committed_at")
    }
    (
        DeltaTable.forPath(spark, path)
        .alias("t")
        .merge(rows.alias("s"), "t.id = s.id")
        .whenMatchedDelete(sf.col("s.deleted"))
        .whenMatchedUpdate(set=values)
        .whenNotMatchedInsert(~sf.col("s.deleted"), values=values)
        .execute()
    )


Apply = Callable[[SparkSession, str, str, int], None]
WAYS: dict[str, Apply] = {
    "plain MERGE": _merge,
    "gold": _apply,
    "gold, drift full": _apply_checked,
}


def _measured(
    spark: SparkSession,
    path: str,
    changes: str,
    apply: Apply,
) -> Figures:
    table = delta.read(spark, path)
    rows = delta.read(spark, changes)
    ranges = within(change_stats(rows, SHAPE, LeftOut()), table.schema)
    scanned = table if apply is _merge else table.where(reduce(Column.__and__, ranges))
    files = [Path(unquote(urlparse(file).path)) for file in scanned.inputFiles()]
    count = rows.count()
    before, started = jobs(spark), time.monotonic()
    apply(spark, path, changes, count)
    seconds = time.monotonic() - started
    (commit,) = DeltaTable.forPath(spark, path).history(1).select("operationMetrics").collect()
    return Figures(
        seconds,
        jobs(spark) - before,
        len(files),
        sum(file.stat().st_size for file in files),
        written([commit["operationMetrics"]]),
    )


def _size(path: str) -> int:
    return sum(file.stat().st_size for file in Path(path).rglob("*.parquet"))


if __name__ == "__main__":
    sys.exit(main())
