"""Removing what a plan of maintenance says: each table by one commit, which may be repeated.

Published cuts go first, so that none is left whose versions' files are gone. Of silver, changes go
before transactions: what is left of a transaction's rows is never without what says that they were
rolled back. What may be read of all history stays: the timeline, the rows of `bronze/files`, what
was seen before of logs that bronze has, DDL that tells of foreign keys, triggers and routines.
"""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

from pyspark.sql import Column, SparkSession, functions as sf

from pipeline import delta
from pipeline.bronze.ingest import BIG_ROWS
from pipeline.catalog.consequences import TOLD_BY
from pipeline.lake import Lake
from pipeline.ledger import PLANNED, Plan
from pipeline.maintenance.plan import MaintenancePlan
from pipeline.maintenance.tables import Table
from pipeline.progress import Task
from pipeline.settings import Settings


@dataclass(frozen=True, slots=True)
class Removal:
    """Rows of one table that go; `name` is the table's in the lake, and the step's."""

    name: str
    table: str
    where: Column


def carry_out(
    spark: SparkSession,
    settings: Settings,
    plan: Plan,
    body: MaintenancePlan,
    silver: list[Table],
    task: Task,
) -> set[str]:
    """Do all of it, as far as it is not done; the tables that had something to remove.

    `spark` names the batch in the commits.
    """
    touched: set[str] = set()

    def remove(removal: Removal) -> None:
        if _remove(spark, plan, removal):
            touched.add(removal.table)
        task.advance()

    # Lists, so that the first error of any of them is raised.
    for removal in cuts_before(settings, body):
        remove(removal)
    with ThreadPoolExecutor(settings.parallel_tables) as pool:
        list(pool.map(remove, changes_before(body, silver)))
    for removal in _others(spark, settings, body):
        remove(removal)
    return touched


def removals(
    spark: SparkSession, settings: Settings, body: MaintenancePlan, silver: list[Table]
) -> Iterator[Removal]:
    """All of them, in order."""
    yield from cuts_before(settings, body)
    yield from changes_before(body, silver)
    yield from _others(spark, settings, body)


def cuts_before(settings: Settings, body: MaintenancePlan) -> Iterator[Removal]:
    """Published cuts that are too old."""
    if body.cuts_from:
        where = (sf.col("source") == settings.source) & (sf.col("batch") < body.cuts_from)
        yield Removal("gold/_cuts", Lake(settings.lake).cuts, where)


def changes_before(body: MaintenancePlan, silver: list[Table]) -> Iterator[Removal]:
    """Each table's changes before the limit."""
    if body.silver.lsn:
        for table in silver:
            yield Removal(table.name, table.reference, sf.col("__lsn") < body.silver.lsn)


def _others(spark: SparkSession, settings: Settings, body: MaintenancePlan) -> Iterator[Removal]:
    yield from _of_silver(spark, settings, body)
    yield from _of_bronze(settings, body)
    if names := _cascades(spark, settings, body):
        where = (sf.col("source") == settings.source) & sf.col("name").isin(names)
        yield Removal("gold/_cascades", Lake(settings.lake).cascades, where)


def _of_silver(spark: SparkSession, settings: Settings, body: MaintenancePlan) -> Iterator[Removal]:
    """Transactions, statements and faults that were taken up, before the limit."""
    lake, before = Lake(settings.lake), body.silver.lsn
    if not before:
        return
    old = (sf.col("source") == settings.source) & (sf.col("__lsn") < before)
    if delta.exists(spark, lake.transactions):
        # Where bronze has the log, decoding it again asks what of it was there before.
        columns = delta.read(spark, lake.transactions).columns
        seen = sf.coalesce("seen_before", sf.lit(False)) & (sf.col("__lsn") >= body.bronze.need.lsn)
        stays = seen if "seen_before" in columns else sf.lit(False)
        yield Removal("silver/transactions", lake.transactions, old & ~stays)
    untold = ~sf.coalesce(sf.col("query").rlike(TOLD_BY), sf.lit(False))
    yield Removal("silver/statements", lake.statements, old & untold)
    taken_up = sf.col("resolved_batch").isNotNull()
    yield Removal("silver/quarantine", lake.quarantine, old & taken_up)


def _of_bronze(settings: Settings, body: MaintenancePlan) -> Iterator[Removal]:
    """The bytes of whole files."""
    if not body.bronze.runs:
        return
    ordinal = sf.col("ordinal")
    among = sf.lit(False)
    for first, last in body.bronze.runs:
        among |= ordinal.between(first, last)
    where = (sf.col("source") == settings.source) & among
    yield Removal("bronze/segments", Lake(settings.lake).segments, where)


def _cascades(spark: SparkSession, settings: Settings, body: MaintenancePlan) -> list[str]:
    """What foreign keys did in batches of gold that are finished, as far as it is still there."""
    lake = Lake(settings.lake)
    if not (body.cascades_upto and delta.exists(spark, lake.cascades)):
        return []
    ledger = delta.read(spark, lake.ledger("batches")).where(
        (sf.col("source") == settings.source)
        & (sf.col("layer") == "gold")
        & (sf.col("state") == PLANNED)
        & (sf.col("batch") <= body.cascades_upto)
    )
    done = ledger.select(sf.get_json_object("body", "$.cascades").alias("name"))
    there = delta.read(spark, lake.cascades).select("name").distinct()
    return sorted(row["name"] for row in there.join(done, "name", "left_semi").collect())


def _remove(spark: SparkSession, plan: Plan, removal: Removal) -> bool:
    """Remove the rows; whether there were any: else there is no commit."""
    if not delta.exists(spark, removal.table):
        return False
    if delta.read(spark, removal.table).where(removal.where).isEmpty():
        return False
    big = removal.name == "bronze/segments"
    session = delta.own_session(spark, BIG_ROWS) if big else spark

    def delete(session: SparkSession) -> None:
        delta.open_table(session, removal.table).delete(removal.where)

    app = f"maintenance/{plan.source}/{removal.name}"
    delta.execute_once(session, delete, removal.table, app=app, version=plan.batch)
    return True
